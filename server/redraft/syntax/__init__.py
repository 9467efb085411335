"""What tree-sitter knows of a text: its functions and classes, where they lie, and whether it
parses.

Everything is error tolerant (a broken file still has targets), works on any depth of nesting, and
speaks of code points; that the parser counts UTF-8 bytes stays inside `redraft.syntax.source`.
Knows nothing of files, prompts or models. `languages` holds the facts of each language.
"""

from redraft.syntax.languages import (
    LANGUAGES,
    Language,
    comment,
    comment_openers,
    compiles,
    language_of,
)
from redraft.syntax.targets import (
    Target,
    bodies,
    captured,
    parse_errors,
    prose,
    target_at,
    target_named,
    targets,
)

__all__ = [
    "LANGUAGES",
    "Language",
    "Target",
    "bodies",
    "captured",
    "comment",
    "comment_openers",
    "compiles",
    "language_of",
    "parse_errors",
    "prose",
    "target_at",
    "target_named",
    "targets",
]
