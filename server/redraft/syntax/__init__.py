"""What tree-sitter knows of a text: its functions, statements, imports and strings, where they lie,
and whether it parses.

Everything is error tolerant (a broken file still has targets), works on any depth of nesting, and
counts code points; that the parser counts UTF-8 bytes stays inside `redraft.syntax.source`.
Grammars are loaded at their first use. Knows nothing of files, prompts or models.
"""

from redraft.syntax.languages import (
    LANGUAGES,
    Language,
    comment,
    comment_openers,
    compiles,
    facts_of,
    is_code,
    language_of,
)
from redraft.syntax.source import Statement, Use
from redraft.syntax.structure import (
    captured,
    import_statements,
    parameters,
    parse_errors,
    parse_problems,
    prose,
    statements,
    uses,
    verbatim_lines,
    verbatim_spans,
)
from redraft.syntax.targets import Target, bodies, target_at, target_named, targets
from redraft.syntax.usage import Call, Parameter
from redraft.syntax.validity import redeclared

__all__ = [
    "LANGUAGES",
    "Call",
    "Language",
    "Parameter",
    "Statement",
    "Target",
    "Use",
    "bodies",
    "captured",
    "comment",
    "comment_openers",
    "compiles",
    "facts_of",
    "import_statements",
    "is_code",
    "language_of",
    "parameters",
    "parse_errors",
    "parse_problems",
    "prose",
    "redeclared",
    "statements",
    "target_at",
    "target_named",
    "targets",
    "uses",
    "verbatim_lines",
    "verbatim_spans",
]
