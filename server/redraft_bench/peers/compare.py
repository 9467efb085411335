"""redraft and its peers on the same edits, one task after the other.

Each prompt goes to all of them before the next one does, in an order that turns; only decoding is
timed. Answers are held against redraft's plain ones token by token: builds round differently, so
that near-ties part them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from redraft.bench.subject import Subject, answer, first_difference
from redraft.bench.tasks import Scope, Task, request
from redraft.bench.turns import in_turn
from redraft.prompting.build import build_prompt
from redraft.records import Exactness, Prompt, Refused
from redraft_bench.peers.process import Family, PeerAnswer, PeerError, PeerRequest
from redraft_bench.peers.programs import Peer
from redraft_bench.peers.results import COPY, PLAIN, Failed, PeerRecord

__all__ = ["PeerTask", "jobs", "measure", "needed_context"]

SPARE: Final = 256  # tokens of context behind the longest answer: drafts need room too
DEPTHS: Final = (512, 2048, 4096)  # tokens that redraft's costs are measured behind, at first


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerTask:
    """A task as it is asked: for redraft, and in tokens."""

    id: str
    prompt: Prompt
    asked: PeerRequest


def jobs(subject: Subject, tasks: Sequence[Task], scope: Scope) -> list[PeerTask | Failed]:
    """The prompts for all of `tasks`; those that do not fit say so."""
    return [_job(subject, task, scope) for task in tasks]


def _job(subject: Subject, task: Task, scope: Scope) -> PeerTask | Failed:
    built = build_prompt(request(task, scope), subject, max_tokens=task.max_tokens)
    if isinstance(built, Refused):
        return Failed(id=task.id, peer=None, reason=built.message)
    tokens = tuple(subject.prompt_ids(built))
    asked = PeerRequest(tokens=tokens, max_tokens=task.max_tokens, stop=built.stop)
    return PeerTask(id=task.id, prompt=built, asked=asked)


def needed_context(todo: Sequence[PeerTask | Failed]) -> int:
    """Tokens of context that the longest of all jobs needs, in whole 256s."""
    asked = [one.asked for one in todo if isinstance(one, PeerTask)]
    longest = max((len(one.tokens) + one.max_tokens for one in asked), default=0)
    return -(-longest // SPARE) * SPARE + SPARE


def measure(
    subject: Subject,
    todo: Sequence[PeerTask],
    peers: Sequence[Peer],
    families: Mapping[str, Family],
    *,
    exactness: Exactness,
    plain_tokens: int | None,
) -> Iterator[list[PeerRecord | Failed]]:
    """For each job what redraft and `peers` did.

    With `plain_tokens` the peers' own plain decoding ends after so many tokens: its speed is known
    by then.
    """
    subject.calibrate(DEPTHS, exactness)
    for number, job in enumerate(todo):
        subject.warm_up(job.prompt, exactness)
        names = [PLAIN, COPY, *(peer.name for peer in peers)]
        answers: dict[str, PeerAnswer | PeerError] = {}
        for name in in_turn(names, number):
            if name in (PLAIN, COPY):
                answers[name] = _own(subject, job, name, exactness)
                continue
            asked = _shortened(job.asked, plain_tokens) if name.endswith("/plain") else job.asked
            answers[name] = _theirs(families, name, asked)
        plain = answers[PLAIN]
        assert isinstance(plain, PeerAnswer)  # noqa: S101 - redraft's own errors end the run
        yield [_record(job, name, answers[name], plain, plain_tokens) for name in names]


def _shortened(asked: PeerRequest, n_tokens: int | None) -> PeerRequest:
    most = asked.max_tokens if n_tokens is None else min(n_tokens, asked.max_tokens)
    return PeerRequest(tokens=asked.tokens, max_tokens=most, stop=asked.stop)


def _own(subject: Subject, job: PeerTask, name: str, exactness: Exactness) -> PeerAnswer:
    strategy = name.partition("/")[2]
    done = subject.decode(job.prompt, strategy, exactness, max_tokens=job.asked.max_tokens)
    return PeerAnswer(
        tokens=answer(done),
        timed=done.stats.output_tokens,
        seconds=done.stats.decode_s,
        passes=done.stats.passes,
    )


def _theirs(
    families: Mapping[str, Family], name: str, asked: PeerRequest
) -> PeerAnswer | PeerError:
    family, _, mode = name.partition("/")
    try:
        return families[family].answer(mode, asked)
    except PeerError as error:
        return error


def _record(
    job: PeerTask,
    name: str,
    found: PeerAnswer | PeerError,
    plain: PeerAnswer,
    plain_tokens: int | None,
) -> PeerRecord | Failed:
    if isinstance(found, PeerError):
        return Failed(id=job.id, peer=name, reason=str(found))
    is_cut = name != PLAIN and name.endswith("/plain") and len(found.tokens) == plain_tokens
    compared = plain.tokens[:plain_tokens] if is_cut else plain.tokens
    return PeerRecord(
        id=job.id,
        peer=name,
        prompt_tokens=len(job.asked.tokens),
        output_tokens=len(found.tokens),
        timed_tokens=found.timed,
        decode_s=found.seconds,
        passes=found.passes,
        first_difference=first_difference(found.tokens, compared),
    )
