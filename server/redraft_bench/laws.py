"""`python -m redraft_bench laws`: attack the laws of edits with replies to real code.

For functions drawn with a seed from the sources of installed packages, replies are made whose right
outcome is known: the code as it was shown, with one token changed, shifted, with what is around it,
in prose and fences, with a statement left out. No model is asked. `measure_time` takes the time of
replies to texts of 10,000 lines. Knows nothing of how an edit is found.
"""

import argparse
import difflib
import random
import re
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from redraft import syntax
from redraft.bench.results import markdown_table
from redraft.cli import bench_options, options
from redraft.edit import build_prompt_request, outcome_of_reply
from redraft.prompting.target_view import TargetView, view_target
from redraft.records import (
    Completion,
    DecodeOptions,
    EditRequest,
    Prompt,
    Refused,
    Rewritten,
    Route,
    Span,
    Stats,
)

__all__ = [
    "LAWS",
    "Attack",
    "LawTally",
    "add_parser",
    "attack",
    "default_roots",
    "measure_time",
    "read_sources",
]

LAWS: Final = ("identity", "locality", "shift", "surroundings", "dress", "loss")

_LONGEST_LINE: Final = 200  # characters; a file with a longer one is minified, or data
_LONGEST_FILE: Final = 60_000  # bytes
_LONGEST_REPLY: Final = 20_000  # characters of a file that is its own reply
_A_FILE: Final = 3  # functions drawn from one
_INSTRUCTION: Final = "use a better error"
_WORD = re.compile(r"[A-Za-z_]\w{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A reply, and what has to come of it.

    wanted: the whole new texts that are right. May be refused for `refusals`; nothing wanted: has
    to be. got: the new text, or "refused: " and the reason.
    """

    law: str
    way: str
    path: str
    name: str
    reply: str
    wanted: tuple[str, ...]
    refusals: tuple[str, ...]
    got: str

    @property
    def holds(self) -> bool:
        if self.got.startswith(_REFUSED):
            return not self.wanted or self.got.removeprefix(_REFUSED) in self.refusals
        return self.got in self.wanted

    def describe(self) -> str:
        """Return what was asked and how the outcome differs from what is right."""
        head = f"{self.law}, {self.way}: {self.path} {self.name}\n--- reply\n{self.reply[:1500]}\n"
        if self.got.startswith(_REFUSED) or not self.wanted:
            return f"{head}--- {self.got[:500]}\n"
        wanted, got = self.wanted[0].split("\n"), self.got.split("\n")
        diff = difflib.unified_diff(wanted, got, "wanted", "got", lineterm="", n=1)
        return head + "\n".join(list(diff)[:30]) + "\n"


_REFUSED: Final = "refused: "


@dataclass(slots=True)
class LawTally:
    """What came of the attacks. left_out: files that are minified."""

    n_functions: int = 0
    left_out: int = 0
    counts: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    failed: list[Attack] = field(default_factory=list)

    def add(self, attacks: Iterable[Attack]) -> None:
        """Count `attacks`, and keep those in which a law does not hold."""
        for each in attacks:
            self.counts[each.law, each.way, each.holds] += 1
            if not each.holds:
                self.failed.append(each)

    def n_attacks(self, law: str, *, holds: bool | None = None) -> int:
        """Return how many attacks of a law were made, or how many it held in (or not)."""
        return sum(
            n for (name, _, held), n in self.counts.items() if name == law and holds in (None, held)
        )


class _NoModel:
    """Counts tokens; there is room for every prompt."""

    n_ctx = 1_000_000_000
    chat_template = None

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def complete(self, *_: object, **__: object) -> Completion:
        raise NotImplementedError


def default_roots() -> list[Path]:
    """Return the folders of installed sources on this machine: Python, JavaScript, C."""
    roots = [Path(sysconfig.get_paths()["purelib"]), Path("/usr/include")]
    roots += sorted(Path.home().glob(".cache/redraft/editors/*/node_modules"))
    return [root for root in roots if root.is_dir()]


def read_sources(roots: Sequence[Path], random_: random.Random) -> Iterator[tuple[Path, str]]:
    """Yield the files below `roots` that hold a language with definitions, by turns, in any order.

    Each root has its turn with each kind of file, so that one of many files does not crowd out the
    others.
    """
    kinds: dict[tuple[Path, str], list[Path]] = {}
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.suffix and syntax.language_of(path.name, "") in _CODE:
                kinds.setdefault((root, path.suffix), []).append(path)
    for paths in kinds.values():
        random_.shuffle(paths)
    while kinds:
        for key in list(kinds):
            path = kinds[key].pop()
            if not kinds[key]:
                del kinds[key]
            if path.is_file() and path.stat().st_size <= _LONGEST_FILE:
                try:
                    yield path, path.read_bytes().decode()
                except UnicodeDecodeError:
                    continue


_CODE = frozenset(
    "python javascript typescript tsx c cpp csharp go rust java kotlin ruby php swift scala lua"
    " bash".split()
)


def attack(tally: LawTally, path: Path, text: str, random_: random.Random) -> None:
    """Attack every law with some functions of a file."""
    if max(map(len, text.split("\n"))) > _LONGEST_LINE:
        tally.left_out += 1
        return
    language = syntax.language_of(path.name, text)
    functions = [
        target
        for target in syntax.targets(text, language or "")
        if target.kind in ("function", "method")
    ]
    for target in random_.sample(functions, min(_A_FILE, len(functions))):
        request = EditRequest(
            path=path.name,
            text=text,
            target=target.span,
            instruction=_INSTRUCTION,
            language=language,
        )
        tally.n_functions += 1
        tally.add(_Attacker(str(path), target.name, request, random_).attacks())


class _Attacker:
    """The attacks on one function."""

    def __init__(self, path: str, name: str, request: EditRequest, random_: random.Random) -> None:
        self._path = path
        self._name = name
        self._request = request
        self._random = random_
        self._view = view_target(request)
        self._lines = self._view.text.split("\n")

    def attacks(self) -> Iterator[Attack]:
        yield from self._identity()
        yield from self._locality()
        yield from self._shift()
        yield from self._surroundings()
        yield from self._dress()
        yield from self._loss()

    def _try(
        self,
        law: str,
        way: str,
        reply: str,
        *wanted: str,
        request: EditRequest | None = None,
        route: Route = "edit",
        refusals: Sequence[str] = (),
    ) -> Attack:
        request = request or self._request
        return Attack(
            law=law,
            way=way,
            path=self._path,
            name=self._name,
            reply=reply,
            wanted=wanted,
            refusals=tuple(refusals),
            got=_outcome(request, reply, route),
        )

    def _identity(self) -> Iterator[Attack]:
        text, shown = self._request.text, self._view.text
        yield self._try("identity", "function", shown, text)
        yield self._try("identity", "codemod", shown, text, route="codemod")
        for way, request in self._other_requests():
            reply = view_target(request).text
            if reply.strip():
                yield self._try("identity", way, reply, text, request=request)

    def _other_requests(self) -> Iterator[tuple[str, EditRequest]]:
        """The same file with other targets: lines of the function, a word of it, the file."""
        start, stop = self._request.target.start, self._request.target.stop
        text = self._request.text
        first, last = sorted(self._random.choices(range(len(self._lines)), k=2))
        ends = [match.end() for match in re.finditer(r"\r\n|\r|\n", text[start:stop])]
        begins = [0, *ends]
        if last < len(begins):
            line_stop = ends[last] if last < len(ends) else stop - start
            lines = Span(start + begins[first], start + line_stop)
            yield "lines", replace(self._request, target=lines)
        if words := list(_WORD.finditer(text, start, stop)):
            word = self._random.choice(words)
            yield "fragment", replace(self._request, target=Span(*word.span()))
        if len(text) <= _LONGEST_REPLY:
            yield "file", replace(self._request, target=Span(0, len(text)))

    def _locality(self) -> Iterator[Attack]:
        for way, request in (("function", self._request), *self._other_requests()):
            yield from self._with_other_word(way, request)
        changed = self._change_word(self._lines)
        if changed:
            wanted, refusals = self._wanted(self._request, self._view, changed)
            yield self._try(
                "locality",
                "codemod",
                "\n".join(changed),
                wanted,
                route="codemod",
                refusals=refusals,
            )
        yield from self._with_new_line()

    def _with_other_word(self, way: str, request: EditRequest) -> Iterator[Attack]:
        view = view_target(request)
        if changed := self._change_word(view.text.split("\n")):
            wanted, refusals = self._wanted(request, view, changed)
            reply = "\n".join(changed)
            yield self._try("locality", way, reply, wanted, request=request, refusals=refusals)

    def _change_word(self, lines: Sequence[str]) -> list[str]:
        # Under another name a short definition need not be recognised.
        name = set(_WORD.findall(self._name))
        words = [(at, word) for at, line in enumerate(lines) for word in _WORD.finditer(line)]
        words = [(at, word) for at, word in words if word.group() not in name]
        if not words:
            return []
        at, word = self._random.choice(words)
        line = lines[at]
        return [*lines[:at], f"{line[: word.end()]}_zz{line[word.end() :]}", *lines[at + 1 :]]

    def _wanted(
        self, request: EditRequest, view: TargetView, lines: Sequence[str]
    ) -> tuple[str, tuple[str, ...]]:
        """The file with `lines` in the target's place; and what that may be refused for."""
        old = request.target.of(request.text)
        new = _with_endings("\n".join(lines), old).removeprefix(view.indentation)
        text, language = request.text, request.language or ""
        wanted = f"{text[: request.target.start]}{new}{text[request.target.stop :]}"
        is_broken = (
            syntax.parse_errors(wanted, language) > syntax.parse_errors(text, language)
            or not syntax.compiles(wanted, language)
            or bool(syntax.redeclared(wanted, language) - syntax.redeclared(text, language))
        )
        return wanted, ("parse_broken", "no_code", "deletion") if is_broken else ()

    def _with_new_line(self) -> Iterator[Attack]:
        """A comment added between two lines of the function."""
        verbatim = syntax.verbatim_lines(self._view.text, self._request.language or "")
        places = [
            at
            for at in range(1, len(self._lines))
            if self._lines[at].strip()
            and not verbatim & {at, at - 1}
            and self._lines[at - 1].rstrip().endswith((";", "{", ":", "}"))
        ]
        if places and not _mixes_endings(self._request.target.of(self._request.text)):
            at = self._random.choice(places)
            line = self._lines[at]
            comment = syntax.comment(self._request.language, "why this")
            new = f"{line[: len(line) - len(line.lstrip())]}{comment}"
            lines = [*self._lines[:at], new, *self._lines[at:]]
            wanted, refusals = self._wanted(self._request, self._view, lines)
            yield self._try("locality", "new line", "\n".join(lines), wanted, refusals=refusals)

    def _shift(self) -> Iterator[Attack]:
        text = self._request.text
        base = self._view.indentation
        changed = self._change_word(self._lines)
        for lines, wanted, refusals in (
            (self._lines, text, ()),
            *([(changed, *self._wanted(self._request, self._view, changed))] if changed else []),
        ):
            indented = "\n".join(f"    {line}" if line.strip() else line for line in lines)
            yield self._try("shift", "indented", indented, wanted, refusals=refusals)
            if base and all(line.startswith(base) or not line.strip() for line in lines):
                dedented = "\n".join(line.removeprefix(base) for line in lines)
                yield self._try("shift", "dedented", dedented, wanted, refusals=refusals)
            widths = {len(line) - len(line.lstrip(" ")) for line in lines if line.strip()}
            if any(widths) and not any(width % 4 for width in widths) and "\t" not in text:
                tabs = "\n".join(_with_tabs(line) for line in lines)
                yield self._try("shift", "tabs", tabs, wanted, refusals=refusals)

    def _surroundings(self) -> Iterator[Attack]:
        text, target = self._request.text, self._request.target
        if len(text) <= _LONGEST_REPLY:
            yield self._try("surroundings", "file", _to_lf(text), text)
        above = _to_lf(text[: target.start]).split("\n")[:-1]
        below = _to_lf(text[target.stop :]).split("\n")[1:]
        n_lines = self._random.randint(1, 5)
        reply = "\n".join([*above[-n_lines:], *self._lines, *below[:n_lines]])
        yield self._try("surroundings", "lines", reply, text)

    def _dress(self) -> Iterator[Attack]:
        text, shown = self._request.text, self._view.text
        fenced = f"```{self._request.language}\n{shown}\n```"
        yield self._try("dress", "fences", fenced, text)
        yield self._try(
            "dress", "prose", f"Here is the updated code:\n{fenced}\nI changed the error.", text
        )
        yield self._try("dress", "tags", f"<|im_start|>assistant\n{shown}<|im_end|>", text)

    def _loss(self) -> Iterator[Attack]:
        shown, lines = self._view.text, self._lines
        ranges = []
        for statement in syntax.statements(shown, self._request.language or ""):
            start, stop = statement.span.start, statement.span.stop
            first, last = (shown.count("\n", 0, offset) for offset in (start, stop))
            is_whole = not shown[:start].rpartition("\n")[2].strip() and shown[stop:].partition(
                "\n"
            )[0].strip() in ("", ";", ",")
            says = any(map(str.isalnum, "".join(lines[first : last + 1])))
            is_comment = "comment" in statement.kind or "string" in statement.kind
            if first > 0 and last < len(lines) - 1 and is_whole and says and not is_comment:
                ranges.append((first, last))
        if ranges:
            first, last = self._random.choice(ranges)
            yield self._try("loss", "statement", "\n".join(lines[:first] + lines[last + 1 :]))


def _outcome(request: EditRequest, reply: str, route: Route = "edit") -> str:
    """Return the text after the edit that `reply` makes, or why it makes none."""
    asked = build_prompt_request(request, _NoModel(), DecodeOptions(route=route))
    if isinstance(asked, Refused):
        return f"{_REFUSED}{asked.reason}"
    for stop in asked.prompt.stop:
        reply = reply.partition(stop)[0]
    outcome = outcome_of_reply(
        request, asked.prompt, Completion(text=reply, finish="stop", stats=Stats())
    )
    match outcome:
        case Refused():
            return f"{_REFUSED}{outcome.reason}"
        case Rewritten():
            return outcome.new_text
        case _:
            return request.text


def _to_lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _with_endings(text: str, old: str) -> str:
    """Return `text` with the line endings that `old` has, line by line."""
    endings = re.findall(r"\r\n|\r|\n", old)
    if len(endings) != text.count("\n"):
        return text.replace("\n", endings[0] if endings else "\n")
    parts = text.split("\n")
    return "".join(map("".join, zip(parts, [*endings, ""], strict=True)))


def _mixes_endings(text: str) -> bool:
    return len(set(re.findall(r"\r\n|\r|\n", text))) > 1


def _with_tabs(line: str) -> str:
    code = line.lstrip(" ")
    n_tabs, n_spaces = divmod(len(line) - len(code), 4)
    return "\t" * n_tabs + " " * n_spaces + code


N_LINES: Final = 10_000


def measure_time() -> Iterator[tuple[str, float]]:
    """Yield kinds of replies to texts of 10,000 lines, and the seconds that each takes.

    Infinite where the reply is not applied.
    """
    for kind, request, reply in build_long_replies(N_LINES):
        began = time.perf_counter()
        is_applied = apply_long_reply(request, reply)
        yield kind, time.perf_counter() - began if is_applied else float("inf")


def apply_long_reply(request: EditRequest, reply: str) -> bool:
    """Return True where the outcome of `reply` is the reply itself."""
    prompt = Prompt(file=(), request=(), source=request.text, stop=())
    completion = Completion(text=reply, finish="stop", stats=Stats())
    outcome = outcome_of_reply(request, prompt, completion)
    return isinstance(outcome, Rewritten) and outcome.new_text == reply


def build_long_replies(n_lines: int) -> Iterator[tuple[str, EditRequest, str]]:
    """Yield kinds of replies to texts of `n_lines`: what they are, the request and the reply."""
    python = "".join(
        f"def f_{n}(a, b):\n    total = a * {n}\n    total += b\n    return total\n\n"
        for n in range(n_lines // 5)
    )
    one_line = f"    total = a * {n_lines // 10}\n"
    prose = "".join(f"Line {n} says something of {n % 7} things.\n" for n in range(n_lines))
    table = "".join(f"| {n} | {n * 7 % 13} | yes |\n" for n in range(n_lines))
    kinds = (
        ("Markdown, all lines changed", "a.md", prose, prose.replace("says", "tells")),
        ("a table, all rows changed", "a.md", table, table.replace("yes", "no")),
        ("Python, one line changed", "a.py", python, python.replace(one_line, "    total = b\n")),
        (
            "Python, all lines changed",
            "a.py",
            python,
            re.sub(r"\btotal\b|(?<=\w)\(a, b\)", _renamed, python),
        ),
        (
            "Python, every other line changed",
            "a.py",
            python,
            re.sub(r"(?:= |return )", _doubled, python),
        ),
    )
    for kind, path, text, reply in kinds:
        request = EditRequest(
            path=path,
            text=text,
            target=Span(0, len(text)),
            instruction="Go on",
            language=syntax.language_of(path, text),
        )
        yield kind, request, reply


def _renamed(match: re.Match[str]) -> str:
    return "(first, b)" if match.group().startswith("(") else "result"


def _doubled(match: re.Match[str]) -> str:
    return f"{match.group()}2 * "


def add_parser(commands: options.Subparsers) -> None:
    """Add the command `laws`."""
    parser = bench_options.add_command(
        commands, "laws", "attack the laws of edits with replies to real code", run
    )
    flag = parser.add_argument
    flag("paths", nargs="*", type=Path, help="folders of sources (default: installed packages)")
    flag("--functions", type=bench_options.parse_count, default=1000, help="default: %(default)s")
    flag("--seed", type=int, default=1, help="default: %(default)s")
    flag("--show", type=int, default=5, help="failing cases to print a law (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Run the command `laws`. Returns 0 where every law holds, else 1."""
    conditions = bench_options.begin_run(args)
    random_ = random.Random(args.seed)  # noqa: S311 - cases, not secrets
    tally = LawTally()
    for path, text in read_sources(args.paths or default_roots(), random_):
        if tally.n_functions >= args.functions:
            break
        attack(tally, path, text, random_)
    rows = [
        (law, f"{tally.n_attacks(law):,}", f"{tally.n_attacks(law, holds=False):,}") for law in LAWS
    ]
    print(f"{tally.n_functions:,} functions; {tally.left_out:,} minified files left out\n")
    print(markdown_table(("law", "attacks", "broken"), rows), end="")
    times = dict(measure_time())
    print()
    print(
        markdown_table(("reply to 10,000 lines", "s"), [(k, f"{s:.2f}") for k, s in times.items()]),
        end="",
    )
    shown: Counter[str] = Counter()
    for each in tally.failed:
        shown[each.law] += 1
        if shown[each.law] <= args.show:
            print(f"\n{each.describe()}", file=sys.stderr)
    results = {
        "conditions": conditions,
        "functions": tally.n_functions,
        "seed": args.seed,
        "left_out": tally.left_out,
        "laws": {law: [tally.n_attacks(law), tally.n_attacks(law, holds=False)] for law in LAWS},
        "seconds": times,
    }
    bench_options.write_results(args.json, results)
    return 1 if tally.failed else 0
