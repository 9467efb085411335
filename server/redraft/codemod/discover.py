"""Which files a codemod may touch: those under the given paths, and never one more.

Symbolic links are not followed, what git ignores is left alone, and repositories inside the
repository are entered only when asked for. Knows names and sizes; opens no source file.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from pathspec import GitIgnoreSpec

from redraft.codemod import programs
from redraft.errors import InputError
from redraft.syntax import language_of

__all__ = ["MAX_BYTES", "Found", "Ignore", "Rules", "Skipped", "patterns", "root_of", "walk"]

# Where pathspec's expressions notice that a folder above the path matches, not the path itself.
_FOLDER: Final = "ps_d"


def patterns(lines: tuple[str, ...]) -> GitIgnoreSpec:
    """Patterns as in a .gitignore file, for paths below the folder they are given in."""
    # To git `a/**` is what lies in `a`, to pathspec also `a/` itself, and `a/**/*` is not.
    return GitIgnoreSpec.from_lines(f"{line}/*" if line.endswith("/**") else line for line in lines)


@dataclass(frozen=True, slots=True)
class Ignore:
    """The rules that hold in one folder: (length of the base's path, patterns), deepest last.

    Paths are relative to the walk's root, with `/`; a folder's ends in `/`.
    """

    rules: tuple[tuple[int, GitIgnoreSpec], ...] = ()

    def within(self, folder: Path, relative: str, *weaker: Path) -> "Ignore":
        """The rules inside `folder`, whose path is `relative` ("" for the root itself).

        `weaker` are further files of patterns that its .gitignore stands above.
        """
        found = tuple(
            (len(relative), patterns(lines))
            for file in (*weaker, folder / ".gitignore")
            if (lines := _lines(file))
        )
        return Ignore((*self.rules, *found)) if found else self

    def hides(self, relative: str) -> bool:
        """Whether the file or folder at `relative` is ignored, given that its folder is not."""
        for base, spec in reversed(self.rules):
            verdict = _verdict(spec, relative[base:])
            if verdict is not None:
                return verdict
        return False


def _verdict(spec: GitIgnoreSpec, path: str) -> bool | None:
    """What the last pattern for exactly `path` says; None where there is none.

    A pattern for a folder says nothing of what lies in it: that is why folders are asked about.
    """
    for pattern in reversed(spec.patterns):
        found = pattern.match_file(path)
        if found and found.match.groupdict().get(_FOLDER):
            found = found if found.match.start(_FOLDER) == len(path) - 1 else None
        if found:
            return pattern.include
    return None


def _lines(file: Path) -> tuple[str, ...]:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:  # most folders have none; git passes over unreadable ones as well
        return ()
    return tuple(line for line in text.split("\n") if line.strip() and not line.startswith("#"))


MAX_BYTES: Final = 1_000_000
"""Larger files are skipped: some 300,000 tokens, and as good as always generated or data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Which files count. `include` and `exclude` are patterns as in a .gitignore at the root."""

    include: tuple[str, ...] = ()  # none: every file whose language is known
    exclude: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # none: any
    submodules: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file or folder that is left alone by design. `path` is relative to the root."""

    path: str
    reason: str


Found: TypeAlias = str | Skipped
"""A path relative to the root, with `/`; or what was passed over, and why."""


def root_of(paths: Sequence[Path]) -> Path:
    """The root of a run: the repository that holds `paths`, or else their common folder.

    Raises InputError where a path is missing, or lies in another repository.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise InputError(f"{path} does not exist; check the name")
    reals = [_real(path) for path in paths]
    folders = [path if _is_folder(path) else path.parent for path in reals]
    root = programs.toplevel(folders[0]) or Path(os.path.commonpath(folders))
    for path, folder in zip(paths, folders, strict=True):
        if not folder.is_relative_to(root):
            raise InputError(f"{path} lies outside of {root}: run a codemod for each repository")
    return root


def walk(root: Path, paths: Sequence[Path], rules: Rules) -> Iterator[Found]:
    """Every file under `paths` that counts, once, sorted by path; and what was passed over."""
    found: dict[str, Found] = {}
    for path in map(_real, paths):
        for one in _Walk(root, rules).start(path):
            found.setdefault(one if isinstance(one, str) else one.path, one)
    return (found[path] for path in sorted(found, key=lambda path: PurePosixPath(path).parts))


def _real(path: Path) -> Path:
    """`path` without links on the way; a link at its end stays one."""
    return path.parent.resolve() / path.name if path.is_symlink() else path.resolve()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


class _Walk:
    def __init__(self, root: Path, rules: Rules) -> None:
        self._root = root
        self._rules = rules
        self._include = patterns(rules.include) if rules.include else None
        self._exclude = patterns(rules.exclude) if rules.exclude else None

    def start(self, path: Path) -> Iterator[Found]:
        """Walk from `path`, minding the rules of the folders above it."""
        parts = path.relative_to(self._root).parts
        ignore = self._entered(Ignore(), self._root, "")
        folder, relative = self._root, ""
        for part in parts[:-1]:
            folder, relative = folder / part, f"{relative}{part}/"
            if why := self._closed(folder, relative, ignore):
                yield Skipped(path="/".join(parts), reason=why)
                return
            ignore = self._entered(ignore, folder, relative)
        if not parts:
            yield from self._inside(folder, relative, ignore)
        elif why := self._hidden(path, f"{relative}{parts[-1]}", ignore):
            yield Skipped(path="/".join(parts), reason=why)
        elif _is_folder(path):
            yield from self._folder(path, f"{relative}{parts[-1]}/", ignore)
        else:
            yield self._file(path, f"{relative}{parts[-1]}") or Skipped(
                path="/".join(parts), reason="not a file of a known language, or not included"
            )

    def _hidden(self, path: Path, relative: str, ignore: Ignore) -> str:
        shown = f"{relative}/" if _is_folder(path) else relative
        return "ignored by git" if ignore.hides(shown) else ""

    def _closed(self, folder: Path, relative: str, ignore: Ignore) -> str:
        """Why `folder` is not entered; "" where it is."""
        if ignore.hides(relative):
            return "ignored by git"
        if not self._rules.submodules and os.path.lexists(folder / ".git"):
            return "a repository of its own; --submodules enters it"
        return ""

    def _entered(self, ignore: Ignore, folder: Path, relative: str) -> Ignore:
        if not os.path.lexists(folder / ".git"):
            return ignore.within(folder, relative)
        # A repository starts with no rules but its own.
        return Ignore().within(folder, relative, *programs.exclude_files(folder))

    def _folder(self, folder: Path, relative: str, ignore: Ignore) -> Iterator[Found]:
        if why := self._closed(folder, relative, ignore):
            if why != "ignored by git":
                yield Skipped(path=relative.removesuffix("/"), reason=why)
            return
        yield from self._inside(folder, relative, self._entered(ignore, folder, relative))

    def _inside(self, folder: Path, relative: str, ignore: Ignore) -> Iterator[Found]:
        try:
            with os.scandir(folder) as entries:
                inside = list(entries)
        except OSError as error:
            yield Skipped(path=relative or ".", reason=f"cannot be listed: {error.strerror}")
            return
        for entry in inside:
            path = f"{relative}{entry.name}"
            if entry.name == ".git":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self._folder(Path(entry.path), f"{path}/", ignore)
            elif self._counts(path) and not ignore.hides(path):
                found = self._file(Path(entry.path), path)
                if found:
                    yield found

    def _file(self, path: Path, relative: str) -> Found | None:
        if not self._counts(relative):
            return None
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            return Skipped(path=relative, reason="a symbolic link; name the real file")
        if not stat.S_ISREG(info.st_mode):
            return Skipped(path=relative, reason="not a regular file")
        if info.st_size > MAX_BYTES:
            reason = f"{info.st_size:,} bytes, over the limit of {MAX_BYTES:,}"
            return Skipped(path=relative, reason=reason)
        return relative

    def _counts(self, relative: str) -> bool:
        """Whether the name alone lets the file in; one without a suffix may be a script."""
        if self._exclude and self._exclude.match_file(relative):
            return False
        if self._include:
            return self._include.match_file(relative)
        return "." not in relative.rpartition("/")[2] or language_of(relative) is not None
