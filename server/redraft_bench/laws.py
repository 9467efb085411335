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
import textwrap
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Final

from redraft import syntax
from redraft.bench.results import markdown_table
from redraft.cli import bench_options, options
from redraft.edit import outcome_of_reply, prompt_without_model
from redraft.interruption import interruptible
from redraft.prompting.target_view import view_target
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
from redraft.text.lines import read_indent

__all__ = [
    "LAWS",
    "Attack",
    "LawTally",
    "add_parser",
    "attack_file",
    "attack_sources",
    "default_roots",
    "list_sources",
    "measure_time",
]

LAWS: Final = ("identity", "locality", "shift", "surroundings", "dress", "loss")

_LONGEST_LINE: Final = 200  # characters; a file with a longer one is minified, or data
_LONGEST_FILE: Final = 60_000  # bytes
_LONGEST_REPLY: Final = 20_000  # characters of a file or a class that is its own reply
_A_FILE: Final = 3  # functions drawn from one
_CHANGED_SHARE: Final = 0.6  # of the attacks that are made from the code as it was, or changed
_INSTRUCTION: Final = "use a better error"
_QUOTED_TEST: Final = "assert check_it(1) == 2\nassert check_it(3) == 4"
_WORD = re.compile(r"[A-Za-z_]\w{3,}")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_CLASSES = frozenset({"class", "enum", "impl", "interface", "object", "struct", "trait"})
_BRANCH = re.compile(r"else|elif|case|catch|except|rescue|arm|when|finally|ensure")
_DECORATOR = re.compile(r"decorator|attribute|annotation")
_REFUSED: Final = "refused: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A reply, and what has to come of it.

    wanted: the whole new texts that are right; none: it has to be refused. is_broken: the right
    text does not parse, so that a refusal, or what was there before, is right as well. got: the new
    text, or "refused: " and the reason.
    """

    law: str
    way: str
    path: str
    name: str
    reply: str
    wanted: tuple[str, ...]
    is_broken: bool
    got: str

    @property
    def holds(self) -> bool:
        if self.got.startswith(_REFUSED):
            return not self.wanted or self.is_broken
        return self.got in self.wanted or self.is_broken

    def describe(self) -> str:
        """Return what was asked and how the outcome differs from what is right."""
        head = f"{self.law}, {self.way}: {self.path} {self.name}\n--- reply\n{self.reply[:1500]}\n"
        if self.got.startswith(_REFUSED) or not self.wanted:
            return f"{head}--- {self.got[:500]}\n"
        wanted, got = self.wanted[0].split("\n"), self.got.split("\n")
        diff = difflib.unified_diff(wanted, got, "wanted", "got", lineterm="", n=1)
        return head + "\n".join(list(diff)[:30]) + "\n"


@dataclass(slots=True)
class LawTally:
    """What came of the attacks. left_out: files that are minified, too long or no text.

    n_functions: by language. counts: attacks by law, way and whether the law held.
    """

    left_out: int = 0
    n_functions: Counter[str] = field(default_factory=Counter)
    counts: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    failed: list[Attack] = field(default_factory=list)

    def add(self, attack: Attack) -> None:
        """Count an attack, and keep it where the law does not hold."""
        self.counts[attack.law, attack.way, attack.holds] += 1
        if not attack.holds:
            self.failed.append(attack)

    def __iadd__(self, other: "LawTally") -> "LawTally":
        self.left_out += other.left_out
        self.n_functions += other.n_functions
        self.counts += other.counts
        self.failed += other.failed
        return self

    def n_attacks(self, law: str, *, holds: bool | None = None) -> int:
        """Return how many attacks of a law were made, or how many it held in (or not)."""
        return sum(
            n for (name, _, held), n in self.counts.items() if name == law and holds in (None, held)
        )


def default_roots() -> list[Path]:
    """Return the folders of installed sources on this machine, and our samples of each language."""
    paths = sysconfig.get_paths()
    roots = [Path(paths["purelib"]), Path(paths["stdlib"]), *map(Path, _SYSTEM_ROOTS)]
    roots += sorted(Path.home().glob(".cache/redraft/editors/*/node_modules"))
    roots.append(Path(__file__).parents[2] / "fixtures" / "languages")
    return [root for root in roots if root.is_dir()]


_SYSTEM_ROOTS = ("/usr/include", "/usr/local/include", "/usr/share", "/usr/lib")


def list_sources(roots: Sequence[Path], random_: random.Random) -> Iterator[Path]:
    """Yield the files below `roots` that hold a language with definitions, by turns, in any order.

    Each root has its turn with each kind of file, so that one of many files does not crowd out the
    others. A file below several roots is yielded once.
    """
    kinds: dict[tuple[Path, str], list[Path]] = {}
    seen: set[Path] = set()
    for root in roots:
        for path in sorted(root.rglob("*")):
            language = syntax.language_of(path.name, "") if path.suffix else None
            if language and syntax.facts_of(language).queries and path not in seen:
                seen.add(path)
                kinds.setdefault((root, path.suffix), []).append(path)
    for paths in kinds.values():
        random_.shuffle(paths)
    while kinds:
        for key in list(kinds):
            yield kinds[key].pop()
            if not kinds[key]:
                del kinds[key]


def attack_sources(roots: Sequence[Path], *, n_functions: int, seed: int, jobs: int) -> LawTally:
    """Attack the laws with about `n_functions` drawn from the files below `roots`.

    Each file has a random generator of its own, and files count in the order they are drawn, so
    that the outcome does not depend on `jobs`, the number of processes.
    """
    tally = LawTally()
    paths = list_sources(roots, random.Random(seed))  # noqa: S311 - cases, not secrets
    with ProcessPoolExecutor(jobs) as pool:
        running: deque[Future[LawTally]] = deque()
        while tally.n_functions.total() < n_functions:
            # Only so many ahead: what is drawn beyond the last function is thrown away.
            for path in islice(paths, 4 * jobs - len(running)):
                running.append(pool.submit(attack_file, path, seed))
            if not running:
                break
            tally += running.popleft().result()
        pool.shutdown(cancel_futures=True)
    return tally


def attack_file(path: Path, seed: int) -> LawTally:
    """Attack every law with some functions of a file."""
    tally = LawTally()
    try:
        is_long = path.stat().st_size > _LONGEST_FILE
        text = "" if is_long else path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        text = ""
    if not text or max(map(len, text.split("\n"))) > _LONGEST_LINE:
        tally.left_out += 1
        return tally
    random_ = random.Random(f"{seed} {path}")  # noqa: S311 - cases, not secrets
    language = syntax.language_of(path.name, text) or ""
    functions = [
        target
        for target in (syntax.targets(text, language) if language else ())
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
        tally.n_functions[language] += 1
        for attack in _Attacker(str(path), target.name, request, random_).attacks():
            tally.add(attack)
    return tally


class _Attacker:
    """The attacks on one function."""

    def __init__(self, path: str, name: str, request: EditRequest, random_: random.Random) -> None:
        self._path = path
        self._name = name
        self._request = request
        self._random = random_
        self._view = view_target(request)
        self._lines = self._view.text.split("\n")
        self._language = request.language or ""
        text, span = request.text, request.target
        around = [
            target
            for target in syntax.targets(text, self._language)
            if target.kind in _CLASSES and span in target.span and len(target.span) > len(span)
        ]
        self._class = min(around, key=lambda target: len(target.span), default=None)

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
    ) -> Attack:
        request = request or self._request
        got = _outcome(request, reply, route)
        # A bracket too many may be left out with what stands behind it.
        may_be_broken = got.startswith(_REFUSED) or _TOKEN.findall(got) == _TOKEN.findall(
            request.text
        )
        return Attack(
            law=law,
            way=way,
            path=self._path,
            name=self._name,
            reply=reply,
            wanted=wanted,
            is_broken=got not in wanted
            and may_be_broken
            and any(_is_broken(request, text) for text in wanted),
            got=got,
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
        """The same file with other targets: lines of the function, a word of it, class and file."""
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
        if self._class and len(self._class.span) <= _LONGEST_REPLY:
            yield "class", replace(self._request, target=self._class.span)
        if len(text) <= _LONGEST_REPLY:
            yield "file", replace(self._request, target=Span(0, len(text)))

    def _locality(self) -> Iterator[Attack]:
        requests = [("function", self._request), *self._other_requests()]
        for way, request in requests:
            lines = view_target(request).text.split("\n")
            yield from self._try_lines("locality", way, self._change_word(lines), request)
        changed = self._change_word(self._lines)
        yield from self._try_lines("locality", "codemod", changed, route="codemod")
        yield from self._try_lines("locality", "token less", self._change_token(0))
        yield from self._try_lines("locality", "token more", self._change_token(2))
        yield from self._try_lines("locality", "line more", self._add_comment())
        yield from self._without_line()
        yield from self._inserted()

    def _try_lines(
        self,
        law: str,
        way: str,
        lines: Sequence[str],
        request: EditRequest | None = None,
        *,
        route: Route = "edit",
        reply: str | None = None,
    ) -> Iterator[Attack]:
        """Reply with changed `lines` of the target, which have to take its place; none: nothing.

        reply: what is written instead, and has to come to the same.
        """
        if lines:
            request = request or self._request
            right = [_replace_target(request, lines)]
            if reply is None:
                reply = "\n".join(lines)
            elif len(reply_lines := reply.split("\n")) == len(lines):
                # A changed line of a string is content: as the reply has it is right as well.
                content = syntax.verbatim_lines("\n".join(lines), self._language)
                old = view_target(request).text.split("\n")
                as_replied = [
                    new if at in content and line != before else line
                    for at, (line, before, new) in enumerate(
                        zip(lines, old, reply_lines, strict=True)
                    )
                ]
                right += [_replace_target(request, as_replied)]
            yield self._try(law, way, reply, *right, request=request, route=route)

    def _draw_original(self) -> Sequence[str]:
        """Return the function as it is, or with a word changed: what an attack is made from."""
        changed = self._change_word(self._lines)
        return changed if changed and self._random.random() < _CHANGED_SHARE else self._lines

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

    def _change_token(self, times: int) -> list[str]:
        """Return the function with one token of its body left out or written twice."""
        last = self._name.rpartition(".")[2]
        first = next((at for at, line in enumerate(self._lines) if last in line), 0)
        tokens = [
            (at, token)
            # In front of the name each word is a modifier: to leave out `export` is a loss.
            for at, line in enumerate(self._lines[:-1])
            if at > first and last not in line and len(_TOKEN.findall(line)) > 2
            for token in _TOKEN.finditer(line)
        ]
        if not tokens:
            return []
        at, token = self._random.choice(tokens)
        line = self._lines[at]
        new = f"{line[: token.start()]}{' '.join([token[0]] * times)}{line[token.end() :]}"
        # A line that begins elsewhere is another attack: where it belongs is then a guess.
        if read_indent(new) != read_indent(line) or new != new.rstrip():
            return []
        if not any(map(str.isalnum, new)):  # all that the line says is gone
            return []
        return [*self._lines[:at], new, *self._lines[at + 1 :]]

    def _places_between(self) -> list[int]:
        """Return the function's lines in front of which a line may be added."""
        verbatim = syntax.verbatim_lines(self._view.text, self._language)
        if _mixes_endings(self._request.text):
            return []
        return [
            at
            for at in range(1, len(self._lines))
            if self._lines[at].strip()
            and not verbatim & {at, at - 1}
            and self._lines[at - 1].rstrip().endswith((";", "{", ":", "}"))
        ]

    def _comment_for(self, at: int) -> str:
        line = self._lines[at]
        comment = syntax.comment(self._language, "why this")
        return f"{read_indent(line)}{comment}"

    def _add_comment(self) -> list[str]:
        if not (places := self._places_between()):
            return []
        at = self._random.choice(places)
        return [*self._lines[:at], self._comment_for(at), *self._lines[at:]]

    def _without_line(self) -> Iterator[Attack]:
        """A statement of one line that the instruction asks to remove."""
        ranges = [first for first, last in self._statement_ranges() if first == last]
        if ranges and not _mixes_endings(self._request.text):
            at = self._random.choice(ranges)
            request = replace(
                self._request, instruction=f"Remove the line `{self._lines[at].strip()}`."
            )
            lines = self._lines[:at] + self._lines[at + 1 :]
            yield from self._try_lines("locality", "line less", lines, request)

    def _inserted(self) -> Iterator[Attack]:
        """A comment where nothing is selected: alone, and with the lines around the place."""
        if not (places := self._places_between()):
            return
        at = self._random.choice(places)
        text, target = self._request.text, self._request.target
        starts = [m.end() for m in re.finditer(r"\r\n|\r|\n", text[target.start : target.stop])]
        place = target.start + starts[at - 1]
        request = replace(self._request, target=Span(place, place))
        comment, ending = self._comment_for(at), _first_ending(text)
        wanted = f"{text[:place]}{comment}{ending}{text[place:]}"
        yield self._try("locality", "insertion", comment, wanted, request=request)
        indents = [len(read_indent(line).expandtabs()) for line in self._lines[at - 1 : at + 1]]
        if indents == sorted(indents) and self._lines[at].strip()[0] not in "})]":
            reply = comment.strip()
            yield self._try("locality", "insertion, dedented", reply, wanted, request=request)
        whole_lines = self._whole_lines(self._lines)
        above, below = whole_lines[at - 1 : at + 1]
        # Between lone brackets it may be a block of its own.
        if any(map(str.isalnum, above + below)):
            reply = f"{above}\n{comment}\n{below}"
            yield self._try("surroundings", "insertion", reply, wanted, request=request)
            reply = f"{above}\n{below}"
            yield self._try("identity", "insertion", reply, text, request=request)

    def _shift(self) -> Iterator[Attack]:
        text = self._request.text
        base = read_indent(self._lines[0])
        original = self._draw_original()
        indented = "\n".join(f"    {line}" if line.strip() else line for line in original)
        yield from self._try_lines("shift", "indented", original, reply=indented)
        if base and all(line.startswith(base) or not line.strip() for line in original):
            dedented = "\n".join(line.removeprefix(base) for line in original)
            yield from self._try_lines("shift", "dedented", original, reply=dedented)
        widths = {len(line) - len(line.lstrip(" ")) for line in original if line.strip()}
        if any(widths) and not any(width % 4 for width in widths) and "\t" not in text:
            tabs = "\n".join(_with_tabs(line) for line in original)
            yield from self._try_lines("shift", "tabs", original, reply=tabs)

    def _surroundings(self) -> Iterator[Attack]:
        text, target = self._request.text, self._request.target
        n_lines = self._random.randint(1, 5)
        above = _to_lf(text[: target.start - len(self._view.before)]).split("\n")[:-1]
        below = _to_lf(text[target.stop + len(self._view.after) :]).split("\n")[1:]
        around = [("lines", above[-n_lines:], below[:n_lines])]
        if len(text) <= _LONGEST_REPLY:
            around.append(("file", above, below))
        if self._class and len(self._class.span) <= _LONGEST_REPLY:
            class_view = view_target(replace(self._request, target=self._class.span))
            first, last = class_view.first_line, class_view.last_line
            start, stop = self._view.first_line, self._view.last_line
            n_above, n_below = max(0, start - first), max(0, last - stop)
            around.append(("class", above[len(above) - n_above :], below[:n_below]))
        original = self._draw_original()
        for way, head, tail in around:
            reply = "\n".join([*head, *self._whole_lines(original), *tail])
            yield from self._try_lines("surroundings", way, original, reply=reply)

    def _whole_lines(self, lines: Sequence[str]) -> list[str]:
        """Return the function's `lines` with what else stands on its first and last one."""
        before = self._view.before if self._view.before.strip() else ""
        return (before + "\n".join(lines) + self._view.after).split("\n")

    def _dress(self) -> Iterator[Attack]:
        quoting = replace(
            self._request,
            instruction=f"This is wrong: fix it so that this holds.\n\n{_QUOTED_TEST}",
        )
        original = self._draw_original()
        shown = "\n".join(original)
        fenced = f"```{self._language}\n{shown}\n```"
        prose = f"Here is the updated code:\n{fenced}\nI changed the error."
        tags = f"<|im_start|>assistant\n{shown}<|im_end|>"
        for way, reply in (("fences", fenced), ("prose", prose), ("tags", tags)):
            yield from self._try_lines("dress", way, original, reply=reply)
        quoted = f"{shown}\n\n{_QUOTED_TEST}"
        yield from self._try_lines("dress", "quoted code", original, quoting, reply=quoted)

    def _statement_ranges(self, kinds: re.Pattern[str] | None = None) -> list[tuple[int, int]]:
        """Return first and last lines of the statements that have their lines to themselves."""
        shown, lines = self._view.text, self._lines
        ranges = []
        for statement in syntax.statements(shown, self._language):
            start, stop = statement.span.start, statement.span.stop
            first, last = (shown.count("\n", 0, offset) for offset in (start, stop))
            is_whole = not shown[:start].rpartition("\n")[2].strip() and shown[stop:].partition(
                "\n"
            )[0].strip() in ("", ";", ",")
            says = any(map(str.isalnum, "".join(lines[first : last + 1])))
            is_comment = "comment" in statement.kind or "string" in statement.kind
            is_meant = kinds is None or bool(kinds.search(statement.kind))
            # The first line is the definition's own, unless a decorator stands there.
            is_inside = (first > 0 or kinds is _DECORATOR) and last < len(lines) - 1
            if is_inside and is_whole and is_meant and says and not is_comment:
                ranges.append((first, last))
        return ranges

    def _loss(self) -> Iterator[Attack]:
        for way, kinds in (("statement", None), ("branch", _BRANCH), ("decorator", _DECORATOR)):
            if ranges := self._statement_ranges(kinds):
                first, last = self._random.choice(ranges)
                reply = "\n".join(self._lines[:first] + self._lines[last + 1 :])
                yield self._try("loss", way, reply)
        has_own_lines = not (self._view.before.strip() or self._view.after.strip())
        if self._class and has_own_lines and len(self._class.span) <= _LONGEST_REPLY:
            span, target = self._class.span, self._request.target
            request = replace(self._request, target=span)
            start = target.start - len(self._view.indentation)
            reply = self._request.text[span.start : start] + self._request.text[
                target.stop : span.stop
            ].lstrip("\r\n")
            indentation = view_target(request).indentation
            yield self._try("loss", "sibling", _to_lf(indentation + reply), request=request)


def _outcome(request: EditRequest, reply: str, route: Route = "edit") -> str:
    """Return the text after the edit that `reply` makes, or why it makes none."""
    prompt = prompt_without_model(request, DecodeOptions(route=route))
    for stop in prompt.stop:
        reply = reply.partition(stop)[0]
    outcome = outcome_of_reply(
        request, prompt, Completion(text=reply, finish="stop", stats=Stats())
    )
    match outcome:
        case Refused():
            return f"{_REFUSED}{outcome.reason}"
        case Rewritten():
            return outcome.new_text
        case _:
            return request.text


def _replace_target(request: EditRequest, lines: Sequence[str]) -> str:
    """Return the file with `lines`, as they would be shown, in the target's place."""
    text, target = request.text, request.target
    new = _with_endings("\n".join(lines), target.of(text))
    new = new.removeprefix(view_target(request).indentation)
    return f"{text[: target.start]}{new}{text[target.stop :]}"


def _is_broken(request: EditRequest, new_text: str) -> bool:
    """Return True where a guard may take `new_text` for broken: then it may refuse the edit."""
    text, target, language = request.text, request.target, request.language or ""
    n_behind = len(text) - target.stop
    # In a file that is broken elsewhere the target alone tells.
    old_alone, new_alone = (
        textwrap.dedent(code)
        for code in (target.of(text), new_text[target.start : len(new_text) - n_behind])
    )
    return (
        syntax.parse_errors(new_text, language) > syntax.parse_errors(text, language)
        or syntax.parse_errors(new_alone, language) > syntax.parse_errors(old_alone, language)
        or syntax.compiles(old_alone, language) > syntax.compiles(new_alone, language)
        or not syntax.compiles(new_text, language)
        or bool(syntax.redeclared(new_text, language) - syntax.redeclared(text, language))
    )


def _first_ending(text: str) -> str:
    ending = re.search(r"\r\n|\r|\n", text)
    return ending[0] if ending else "\n"


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


def measure_cancel() -> Iterator[tuple[str, float]]:
    """Yield kinds of replies to texts of 10,000 lines, and how long a cancel has to wait at most.

    In seconds: the longest time between two places where such work lets itself be interrupted.
    """
    for kind, request, reply in build_long_replies(N_LINES):
        moments = [time.perf_counter()]

        def note(moments: list[float] = moments) -> None:
            moments.append(time.perf_counter())

        with interruptible(note):
            apply_long_reply(request, reply)
        note()
        yield kind, max(later - earlier for earlier, later in pairwise(moments))


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
    spread = random.Random(1)  # noqa: S311 - always the same texts
    sentences = [
        "".join(
            f"Part {n}.\n" if n % 400 == 0 else f"{' '.join(spread.choices(_WORDS, k=8))}.\n"
            for n in range(n_lines)
        )
        for _ in range(2)
    ]
    one_line = f"    total = a * {n_lines // 10}\n"
    prose = "".join(f"Line {n} says something of {n % 7} things.\n" for n in range(n_lines))
    table = "".join(f"| {n} | {n * 7 % 13} | yes |\n" for n in range(n_lines))
    kinds = (
        ("Markdown, all lines changed", "a.md", prose, prose.replace("says", "tells")),
        ("Markdown, new between lines that stay", "a.md", *sentences),
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


_WORDS: Final = ("copy", "draft", "model", "token", "pass", "row")


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
    flag("--jobs", type=bench_options.parse_count, default=2, help="processes (default: 2)")
    flag("--show", type=int, default=5, help="failing cases to print a way (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Run the command `laws`. Returns 0 where every law holds, else 1."""
    conditions = bench_options.begin_run(args)
    roots = args.paths or default_roots()
    tally = attack_sources(roots, n_functions=args.functions, seed=args.seed, jobs=args.jobs)
    rows = [
        (law, f"{tally.n_attacks(law):,}", f"{tally.n_attacks(law, holds=False):,}") for law in LAWS
    ]
    n_functions, languages = tally.n_functions.total(), tally.n_functions.most_common()
    print(
        f"{n_functions:,} functions; {tally.left_out:,} minified, long or binary files left out\n"
    )
    print(f"{', '.join(f'{language} {n:,}' for language, n in languages)}\n")
    print(markdown_table(("law", "attacks", "broken"), rows), end="")
    times, waits = dict(measure_time()), dict(measure_cancel())
    print()
    head = ("reply to 10,000 lines", "s", "s until cancelled, at most")
    print(
        markdown_table(head, [(k, f"{s:.2f}", f"{waits[k]:.3f}") for k, s in times.items()]),
        end="",
    )
    shown: Counter[tuple[str, str]] = Counter()
    for each in tally.failed:
        shown[each.law, each.way] += 1
        if shown[each.law, each.way] <= args.show:
            print(f"\n{each.describe()}", file=sys.stderr)
    results = {
        "conditions": conditions,
        "functions": n_functions,
        "languages": dict(languages),
        "seed": args.seed,
        "left_out": tally.left_out,
        "laws": {law: [tally.n_attacks(law), tally.n_attacks(law, holds=False)] for law in LAWS},
        "ways": {
            law: {
                way: [
                    tally.counts[law, way, True] + tally.counts[law, way, False],
                    tally.counts[law, way, False],
                ]
                for way in sorted({w for name, w, _ in tally.counts if name == law})
            }
            for law in LAWS
        },
        "seconds": times,
        "cancel_seconds": waits,
    }
    bench_options.write_results(args.json, results)
    return 1 if tally.failed else 0
