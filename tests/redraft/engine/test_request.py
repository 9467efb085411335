"""The text of a reply, wherever its tokens end, and what it cost."""

import random

import pytest

from redraft.engine.request import CostReport, ReplyText
from redraft_lookup import Step


class Pieces:
    """Token i is the i-th of the given byte strings."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    def piece(self, token: int) -> bytes:
        return self.pieces[token]


def read_reply(pieces: list[bytes], stop: tuple[str, ...]) -> tuple[str, bool, int]:
    reply = ReplyText(Pieces(*pieces), stop)
    reply.extend(range(len(pieces)))
    reply.finish()
    return reply.text, reply.is_stopped, reply.n_tokens


@pytest.mark.parametrize(
    ("pieces", "stop", "expected"),
    [
        pytest.param([], ("x",), ("", False, 0), id="no tokens"),
        pytest.param([b"a", b"b"], (), ("ab", False, 2), id="no stop strings"),
        pytest.param([b"one", b"\n```"], ("\n```",), ("one", True, 2), id="a token is the stop"),
        pytest.param(
            [b"one\n", b"``", b"`", b"two"], ("\n```",), ("one", True, 3), id="across tokens"
        ),
        pytest.param([b"one\n```two"], ("\n```",), ("one", True, 1), id="inside a token"),
        pytest.param(
            [b"one\n``", b"two"], ("\n```",), ("one\n``two", False, 2), id="a false start"
        ),
        pytest.param([b"`", b"``", b"``"], ("```",), ("", True, 2), id="at the very start"),
        pytest.param([b"abc", b"d"], ("c", "bcd"), ("ab", True, 1), id="the one complete first"),
        pytest.param([b"abcd"], ("c", "bcd"), ("ab", True, 1), id="also when one token has both"),
        pytest.param([b"abc"], ("c", "bc"), ("a", True, 1), id="the longer of two that end alike"),
        pytest.param([b"x--", b"y"], ("==", "--"), ("x", True, 1), id="the second of two"),
        pytest.param(
            ["é".encode()[:1], "é".encode()[1:]], (), ("é", False, 2), id="a split character"
        ),
        pytest.param([b"a", "é".encode()[:1]], (), ("a\ufffd", False, 2), id="half a character"),
        pytest.param([b"a\xffb"], (), ("a\ufffdb", False, 1), id="no UTF-8"),
        pytest.param(
            [b"a", "→".encode()[:2], "→".encode()[2:], b"b"],
            ("→",),
            ("a", True, 3),
            id="a stop string that is one split character",
        ),
    ],
)
def test_text(pieces: list[bytes], stop: tuple[str, ...], expected: tuple[str, bool, int]):
    assert read_reply(pieces, stop) == expected


@pytest.mark.parametrize("seed", range(100))
def test_text_and_stop_do_not_depend_on_the_cut(seed: int):
    chance = random.Random(seed)
    data = "".join(chance.choices("ab`é→😀\n", k=40)).encode()
    stop = tuple("".join(chance.choices("ab`é\n", k=chance.randrange(1, 4))) for _ in range(2))
    cuts = sorted(chance.choices(range(len(data) + 1), k=8))
    pieces = [data[i:j] for i, j in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    text, stopped, _ = read_reply(pieces, stop)
    assert (text, stopped) == read_reply([bytes((byte,)) for byte in data], stop)[:2]
    assert data.decode().startswith(text)
    assert stopped == any(string in data.decode() for string in stop)
    assert not any(string in text for string in stop)


def test_tokens_in_several_calls_are_as_in_one():
    reply = ReplyText(Pieces(b"a", b"b", b"c", b"d"), ("cd",))
    for token in range(4):
        reply.extend([token])
    assert (reply.text, reply.is_stopped, reply.n_tokens) == ("ab", True, 4)


def test_a_report_adds_up():
    report, pieces = CostReport(n_prompt=9, expected=2), Pieces(b"a", b"b")
    report.record_prefill(4, 0.0)
    report.record_prefill(8, 0.5)
    report.start_clock()
    two = Step(
        tokens=(0, 1),
        runners_up=((1, 0.5), (0, 2.0)),
        origins=("copied", None),
        drafted=3,
        accepted=1,
        near_tie_redecode=True,
    )
    report.record_pass(two, pieces)
    one = Step(tokens=(0,), runners_up=((1, 4.0),), origins=(None,), drafted=0, accepted=0)
    report.record_pass(one, pieces)
    reply = ReplyText(pieces, ())
    reply.extend([0, 1, 0])
    completion = report.complete(reply, "length", notes=("a note",))
    assert (completion.text, completion.finish, completion.notes) == ("aba", "length", ("a note",))
    stats = completion.stats
    assert (stats.prompt_tokens, stats.reused_tokens, stats.output_tokens) == (9, 4, 3)
    assert (stats.passes, stats.drafted, stats.accepted, stats.near_tie_redecodes) == (2, 3, 1, 1)
    assert stats.prefill_s == 0.5
    assert stats.decode_s == sum(done.seconds for done in completion.passes)
    assert [done.pieces for done in completion.passes] == [(b"a", b"b"), (b"a",)]
    runners_up = [[(r.piece, r.behind) for r in done.runners_up] for done in completion.passes]
    assert runners_up == [[(b"b", 0.5), (b"a", 2.0)], [(b"b", 4.0)]]


def test_progress_never_expects_less_than_is_done():
    report, reply = CostReport(n_prompt=1, expected=2), ReplyText(Pieces(b"a"), ())
    reply.extend([0])
    assert (report.progress(reply).done, report.progress(reply).expected) == (1, 2)
    reply.extend([0, 0])
    assert (report.progress(reply).done, report.progress(reply).expected) == (3, 3)
    assert report.progress(reply).text == "aaa"
