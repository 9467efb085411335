"""Which files git ignores: nested .gitignore files and the repository's own info/exclude.

Patterns are git's, the deepest file that has a say decides, and the last pattern in it. Knows
paths and patterns only.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

__all__ = ["Ignore", "patterns"]

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
