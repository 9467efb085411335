"""Find the files a codemod may touch: those under the given paths, and never one more.

Symbolic links are not followed, what git ignores is left alone, and repositories inside the
repository are entered only when asked for. Knows names, sizes and git's patterns; opens no source
file.
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
from redraft.syntax import is_code, language_of

__all__ = [
    "MAX_BYTES",
    "FileRules",
    "IgnoreRules",
    "Skipped",
    "WalkEntry",
    "find_root",
    "parse_patterns",
    "walk",
]

MAX_BYTES: Final = 1_000_000
"""Larger files are skipped: some 300,000 tokens, and nearly always generated or data."""

_IGNORED: Final = "ignored by git"

# The group of pathspec's expressions that matches where a folder above the path fits the pattern,
# and not the path itself.
_FOLDER_GROUP: Final = "ps_d"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRules:
    """The files that count. `include` and `exclude` are patterns as in a .gitignore at the root."""

    include: tuple[str, ...] = ()  # none: every file whose language is known
    exclude: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # none: any
    submodules: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file or folder that is left alone by design. `path` is relative to the root."""

    path: str
    reason: str


WalkEntry: TypeAlias = str | Skipped
"""A path relative to the root, with `/`; or what was passed over, and why."""


def find_root(paths: Sequence[Path]) -> Path:
    """Return the root of a run: the repository that holds `paths`, or else their common folder.

    Raises InputError where a path is missing, or lies in another repository.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise InputError(f"{path} does not exist; check the name")
    resolved = map(_resolve, paths)
    folders = [path if _is_folder(path) else path.parent for path in resolved]
    root = programs.find_repository(folders[0]) or Path(os.path.commonpath(folders))
    for path, folder in zip(paths, folders, strict=True):
        if not folder.is_relative_to(root):
            raise InputError(f"{path} lies outside of {root}: run a codemod for each repository")
    return root


def walk(root: Path, paths: Sequence[Path], rules: FileRules) -> Iterator[WalkEntry]:
    """Yield every file under `paths` that counts, once, sorted by path; and what is skipped."""
    walker = _Walker(root, rules)
    entries: dict[str, WalkEntry] = {}
    for path in map(_resolve, paths):
        for entry in walker.walk_from(path):
            entries.setdefault(entry if isinstance(entry, str) else entry.path, entry)
    # By parts, so that a folder's files stay together: `a/z.py` comes before `a-b/x.py`.
    return (entries[path] for path in sorted(entries, key=lambda path: PurePosixPath(path).parts))


def _resolve(path: Path) -> Path:
    """Return `path` without links on the way; a link at its end stays one."""
    return path.parent.resolve() / path.name if path.is_symlink() else path.resolve()


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def parse_patterns(lines: Sequence[str]) -> GitIgnoreSpec:
    """Return the patterns of a .gitignore file, for paths below the folder that holds it."""
    # To git `a/**` is what lies in `a`; to pathspec it is also `a/` itself, and `a/**/*` is not.
    return GitIgnoreSpec.from_lines(f"{line}/*" if line.endswith("/**") else line for line in lines)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of git in one folder: (length of the base's path, patterns), the deepest last.

    As in git, the deepest file with a matching pattern decides, and in it the last such pattern.
    Paths are relative to the walk's root, with `/`; a folder's ends in `/`.
    """

    rules: tuple[tuple[int, GitIgnoreSpec], ...] = ()

    def enter(self, folder: Path, relative: str, *weaker: Path) -> "IgnoreRules":
        """Return the rules inside `folder`, whose path is `relative` ("" for the root itself).

        `weaker` are further files of patterns, which its .gitignore overrides.
        """
        rules = list(self.rules)
        for file in (*weaker, folder / ".gitignore"):
            try:
                text = file.read_text(encoding="utf-8", errors="replace")
            except OSError:  # most folders have none; git passes over unreadable ones as well
                continue
            lines = [line for line in text.split("\n") if line.strip() and line[0] != "#"]
            if lines:
                rules.append((len(relative), parse_patterns(lines)))
        return IgnoreRules(tuple(rules))

    def ignores(self, relative: str) -> bool:
        """Return whether the file or folder `relative` is ignored, given that its folder is not."""
        for base, spec in reversed(self.rules):
            path = relative[base:]
            for pattern in reversed(spec.patterns):
                result = pattern.match_file(path)
                if result is None:
                    continue
                # A pattern for a folder, such as `build/`, says nothing of a file in it: whether
                # `build/` itself is ignored was asked before it was entered.
                is_of_folder = result.match.groupdict().get(_FOLDER_GROUP)
                if not is_of_folder or result.match.start(_FOLDER_GROUP) == len(path) - 1:
                    return bool(pattern.include)
        return False


class _Walker:
    """Walks folders of `root`. A folder's relative path ends in `/`; that of the root is ""."""

    def __init__(self, root: Path, rules: FileRules) -> None:
        self._root = root
        self._rules = rules
        self._include = parse_patterns(rules.include) if rules.include else None
        self._exclude = parse_patterns(rules.exclude) if rules.exclude else None

    def walk_from(self, path: Path) -> Iterator[WalkEntry]:
        """Yield what lies at or under `path`, minding the rules of the folders above it."""
        parts = path.relative_to(self._root).parts
        folder, relative = self._root, ""
        ignore = self._enter(IgnoreRules(), folder, relative)
        for part in parts[:-1]:
            folder, relative = folder / part, f"{relative}{part}/"
            if reason := self._find_barrier(folder, relative, ignore):
                yield Skipped(path="/".join(parts), reason=reason)
                return
            ignore = self._enter(ignore, folder, relative)
        if not parts:
            yield from self._walk_entries(folder, relative, ignore)
            return
        relative += parts[-1]
        is_folder = _is_folder(path)
        if ignore.ignores(f"{relative}/" if is_folder else relative):
            yield Skipped(path=relative, reason=_IGNORED)
        elif is_folder:
            yield from self._walk_folder(path, f"{relative}/", ignore)
        else:
            yield self._check_file(path, relative) or Skipped(
                path=relative, reason="not a file of a known language, or not included"
            )

    def _find_barrier(self, folder: Path, relative: str, ignore: IgnoreRules) -> str:
        """Return why `folder` is not entered; "" where it is."""
        if ignore.ignores(relative):
            return _IGNORED
        if not self._rules.submodules and os.path.lexists(folder / ".git"):
            return "a repository of its own; --submodules enters it"
        return ""

    def _enter(self, ignore: IgnoreRules, folder: Path, relative: str) -> IgnoreRules:
        if not os.path.lexists(folder / ".git"):
            return ignore.enter(folder, relative)
        # A repository starts with no rules but its own.
        return IgnoreRules().enter(folder, relative, programs.git_exclude_file(folder))

    def _walk_folder(self, folder: Path, relative: str, ignore: IgnoreRules) -> Iterator[WalkEntry]:
        if reason := self._find_barrier(folder, relative, ignore):
            if reason != _IGNORED:
                yield Skipped(path=relative.removesuffix("/"), reason=reason)
            return
        yield from self._walk_entries(folder, relative, self._enter(ignore, folder, relative))

    def _walk_entries(
        self, folder: Path, relative: str, ignore: IgnoreRules
    ) -> Iterator[WalkEntry]:
        try:
            with os.scandir(folder) as scan:
                entries = list(scan)
        except OSError as error:
            yield Skipped(path=relative or ".", reason=f"cannot be listed: {error.strerror}")
            return
        for entry in entries:
            path = f"{relative}{entry.name}"
            if entry.name == ".git":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk_folder(Path(entry.path), f"{path}/", ignore)
            # Names are checked first: to match git's patterns costs more.
            elif self._has_included_name(path) and not ignore.ignores(path):
                file = self._check_file(Path(entry.path), path)
                if file:
                    yield file

    def _check_file(self, path: Path, relative: str) -> WalkEntry | None:
        """Return the file, or why it is skipped; None where its name does not count."""
        if not self._has_included_name(relative):
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

    def _has_included_name(self, relative: str) -> bool:
        """Return whether the name alone lets the file in; one without a suffix may be a script."""
        if self._exclude and self._exclude.match_file(relative):
            return False
        if self._include:
            return self._include.match_file(relative)
        if "." not in relative.rpartition("/")[2]:
            return True
        language = language_of(relative)
        return is_code(language) or language in self._rules.languages
