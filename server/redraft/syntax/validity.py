"""Find what parses although no compiler takes it: names declared twice, `await` where none may be.

Tables by language, as queries; trees are walked in `redraft.syntax.source`.
"""

from collections.abc import Mapping
from typing import Final

from redraft.syntax.source import parse

__all__ = ["redeclared"]


def redeclared(text: str, language: str) -> frozenset[str]:
    """Return what compilers of `language` refuse in `text` although it parses, by name.

    Two `let` or `const` of one name in a block, and `await` in a function that is not async, in
    JavaScript and TypeScript; a method outside of any class in Java.
    """
    if language not in _RULES:
        return frozenset()
    return frozenset(parse(text, language).misuses(_RULES[language]))


_ECMASCRIPT: Final = (
    "(lexical_declaration (variable_declarator name: (identifier) @declared))",
    "(class_declaration name: (_) @declared)",
    "(await_expression) @await",
)
_RULES: Final[Mapping[str, tuple[str, ...]]] = {
    "javascript": _ECMASCRIPT,
    "typescript": _ECMASCRIPT,
    "tsx": _ECMASCRIPT,
    "java": ("(program (method_declaration name: (identifier) @stray))",),
}
