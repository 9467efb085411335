"""Renderings of small answers: the colour of each token, and no text that escapes into the page."""

from html.parser import HTMLParser

import pytest

from redraft.cli import trace_view
from redraft.records import Completion, Pass, Stats


def one_pass(*tokens: tuple[bytes, str | None], drafted: int = 0) -> Pass:
    pieces, origins = zip(*tokens, strict=True) if tokens else ((), ())
    ids = tuple(range(len(tokens)))
    return Pass(
        tokens=ids, pieces=pieces, origins=origins, runners_up=(), drafted=drafted, seconds=0.25
    )


def answer(text: str, *passes: Pass) -> Completion:
    n_tokens = sum(len(decoded.tokens) for decoded in passes)
    stats = Stats(output_tokens=n_tokens, passes=len(passes), decode_s=2.0)
    return Completion(text=text, finish="stop", stats=stats, passes=passes)


def list_stretches(completion: Completion) -> list[list[tuple[str, str, int]]]:
    return [
        [(stretch.kind, stretch.text, stretch.tokens) for stretch in trace.stretches]
        for trace in trace_view.trace_passes(completion)
    ]


EURO = "€".encode()


@pytest.mark.parametrize(
    ("completion", "expected"),
    [
        pytest.param(answer(""), [], id="an empty answer"),
        pytest.param(
            answer("abcd", one_pass((b"ab", "copied"), (b"c", "copied"), (b"d", None))),
            [[("copied", "abc", 2), ("fresh", "d", 1)]],
            id="neighbours of a kind are one stretch",
        ),
        pytest.param(
            answer("ab", *(one_pass((c, o)) for c, o in ((b"a", "lookup"), (b"b", "model")))),
            [[("elsewhere", "a", 1)], [("elsewhere", "b", 1)]],
            id="a pass is a border between stretches of a kind",
        ),
        pytest.param(
            answer(
                "x€", one_pass((b"x", "learned"), (EURO[:1], "copied")), one_pass((EURO[1:], None))
            ),
            [[("learned", "x", 1), ("copied", "", 1)], [("fresh", "€", 1)]],
            id="a character goes to the token that completes it",
        ),
        pytest.param(
            answer("a\ufffd", one_pass((b"a", None), (EURO[:2], None))),
            [[("fresh", "a", 2), ("fresh", "\ufffd", 0)]],
            id="a character that nothing completes",
        ),
        pytest.param(
            answer("ab", one_pass((b"ab\n", None), (b"```", None), (b"\n", None))),
            [[("fresh", "ab", 1)]],
            id="the stop string is left out",
        ),
        pytest.param(
            answer("a", one_pass(drafted=3), one_pass((b"a", None))),
            [[], [("fresh", "a", 1)]],
            id="a pass that committed nothing is a pass",
        ),
    ],
)
def test_tokens_become_stretches(completion: Completion, expected):
    assert list_stretches(completion) == expected


NASTY = "<script>alert('&')</script>\n\"]]>"


class Reader(HTMLParser):
    """The text inside <pre>, and every tag and attribute of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self._inside = False

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [name for name, _ in attrs if name in ("src", "href")]
        self._inside = self._inside or tag == "pre"

    def handle_endtag(self, tag):
        self._inside = self._inside and tag != "pre"

    def handle_data(self, data):
        self.text += data if self._inside else ""


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def test_a_page_shows_the_answer_to_the_character_and_runs_nothing_of_it():
    tokens = [(bytes([byte]), None) for byte in f"\n{NASTY}ü€".encode()]
    passes = [one_pass(*tokens[:9]), one_pass(*tokens[9:], drafted=7)]
    page = trace_view.render_page(answer(f"\n{NASTY}ü€", *passes), title=NASTY, instruction=NASTY)
    reader = read(page)
    assert reader.text.removeprefix("\n") == f"\n{NASTY}ü€"
    assert "script" not in reader.tags
    assert reader.links == []
    assert "http" not in page
    assert "pass 2: 7 drafted, 0 right, 250 ms" in page


def test_a_page_of_an_empty_answer_is_a_page():
    page = trace_view.render_page(answer(""), title="a.py", instruction="Do it")
    assert read(page).text.strip() == ""
    assert "0 tokens in 0 passes" in page


def test_totals_count_tokens_and_what_was_copied():
    tokens = [(b"a", "copied"), (b"b", "learned"), (b"c", "lookup"), (b"d", None)]
    line = trace_view.format_totals(answer("abcd", one_pass(*tokens, drafted=5)))
    assert line == "4 tokens in 1 passes, 4.0 tokens/pass, 50% copied, 2.0 s, 2.0 tokens/s"


def test_the_terminal_shows_pass_borders_colours_and_counts():
    passes = [one_pass((b"a\x1b", "copied"), (b"b", None)), one_pass((b"c", None))]
    text = trace_view.render_text(answer("a\x1bbc", *passes))
    assert text.plain.startswith("▏a␛b▏c\n")
    styles = {text.plain[span.start : span.end]: span.style for span in text.spans}
    assert styles["a␛"] == "green"
    assert styles["b"] == "bold red"
    assert "     1 copied from the text being edited" in text.plain
    assert "     2 decoded afresh" in text.plain
