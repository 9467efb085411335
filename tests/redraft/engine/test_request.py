"""The text of a reply does not depend on where its tokens end."""

import random

import pytest

from redraft.engine.request import Output, Report
from redraft_lookup import Step


class Pieces:
    """Token i is the i-th of the given byte strings."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    def piece(self, token: int) -> bytes:
        return self.pieces[token]


def shown(pieces: list[bytes], stop: tuple[str, ...]) -> tuple[str, bool, int]:
    output = Output(Pieces(*pieces), stop)
    output.extend(range(len(pieces)))
    output.finish()
    return output.text, output.stopped, output.n_tokens


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
    assert shown(pieces, stop) == expected


@pytest.mark.parametrize("seed", range(100))
def test_text_and_stop_do_not_depend_on_the_cut(seed: int):
    chance = random.Random(seed)
    data = "".join(chance.choices("ab`é→😀\n", k=40)).encode()
    stop = tuple("".join(chance.choices("ab`é\n", k=chance.randrange(1, 4))) for _ in range(2))
    cuts = sorted(chance.choices(range(len(data) + 1), k=8))
    pieces = [data[i:j] for i, j in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    text, stopped, _ = shown(pieces, stop)
    assert (text, stopped) == shown([bytes((byte,)) for byte in data], stop)[:2]
    assert data.decode().startswith(text)
    assert stopped == any(one in data.decode() for one in stop)
    assert not any(one in text for one in stop)


def test_tokens_in_several_calls_are_as_in_one():
    output = Output(Pieces(b"a", b"b", b"c", b"d"), ("cd",))
    for token in range(4):
        output.extend([token])
    assert (output.text, output.stopped, output.n_tokens) == ("ab", True, 4)


def test_a_report_adds_up():
    report = Report(n_prompt=9, expected=2)
    report.prefilled(4, 0.0)
    report.prefilled(8, 0.5)
    report.start()
    pieces = Pieces(b"a", b"b")
    others, origins = ((1, 0.5), (0, 2.0)), ("copied", None)
    step = Step(
        tokens=(0, 1),
        runners_up=others,
        origins=origins,
        drafted=3,
        accepted=1,
        near_tie_redecode=True,
    )
    report.decoded(step, pieces)
    step = Step(tokens=(0,), runners_up=((1, 4.0),), origins=(None,), drafted=0, accepted=0)
    report.decoded(step, pieces)
    stats = report.stats(3)
    assert (stats.prompt_tokens, stats.reused_tokens, stats.output_tokens) == (9, 4, 3)
    assert (stats.passes, stats.drafted, stats.accepted, stats.near_tie_redecodes) == (2, 3, 1, 1)
    assert stats.prefill_s == 0.5
    assert stats.decode_s == sum(one.seconds for one in report.passes)
    assert [one.pieces for one in report.passes] == [(b"a", b"b"), (b"a",)]
    others = [[(one.piece, one.behind) for one in done.runners_up] for done in report.passes]
    assert others == [[(b"b", 0.5), (b"a", 2.0)], [(b"b", 4.0)]]


def test_progress_never_expects_less_than_is_done():
    report, output = Report(n_prompt=1, expected=2), Output(Pieces(b"a"), ())
    output.extend([0])
    assert (report.progress(output).done, report.progress(output).expected) == (1, 2)
    output.extend([0, 0])
    assert (report.progress(output).done, report.progress(output).expected) == (3, 3)
    assert report.progress(output).text == "aaa"
