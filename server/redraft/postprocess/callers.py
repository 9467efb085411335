"""Lines that still use a definition as it was before an edit changed its name or its parameters.

Goes by names alone: a use that may be of something else (a local variable, another class's method,
a method that built-in types have too) is left out, so that what is named is worth a look. Pure.
"""

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from redraft import syntax
from redraft.records import Caller, Span
from redraft.syntax import Call, Parameter, Target, Use
from redraft.text.lines import LineIndex

__all__ = ["ChangedDefinition", "changed_definitions", "describe_callers", "find_callers"]

_CLASSES: Final = frozenset({"class", "enum", "impl", "interface", "object", "struct", "trait"})
_SELF: Final = frozenset({"self", "cls", "this", "super", "me", "Self"})
_COMMON: Final = frozenset(
    name
    for builtin in (str, bytes, list, dict, set, int, io.IOBase, io.TextIOWrapper)
    for name in dir(builtin)
) | frozenset(
    "add push map filter reduce length size contains put remove of then catch toString equals"
    " hashCode forEach shift unshift slice splice concat indexOf includes test exec call apply bind"
    " new from into clone unwrap default fmt len next iter run start stop close open".split()
)
_MOST_CHANGED: Final = 20  # definitions that are looked for; a text rewritten as a whole has more
_MOST_LISTED: Final = 10  # lines in a note


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDefinition:
    """A definition that an edit renamed, removed, or gave other parameters.

    name: as it was, qualified. word: the name by which code uses it. old and new: its parameters,
    where they changed; both None where the name is gone. is_nested: it stands in a function.
    is_ambiguous: another class has a method of that name. is_bound: calls leave out its first
    parameter, such as `self`.
    """

    name: str
    word: str
    language: str
    old: tuple[Parameter, ...] | None = None
    new: tuple[Parameter, ...] | None = None
    is_method: bool = False
    is_nested: bool = False
    is_ambiguous: bool = False
    is_bound: bool = False

    @property
    def scope(self) -> str:
        return self.name.rpartition(".")[0]


def changed_definitions(
    old: str, new: str, target: Span, language: str | None
) -> tuple[ChangedDefinition, ...]:
    """Return the definitions in `target` of `old` that are other ones in `new`, the edited text."""
    if language is None or not syntax.is_code(language):
        return ()
    before, after = syntax.targets(old, language), syntax.targets(new, language)
    names = Counter(definition.name for definition in after)
    words = Counter(definition.name.rpartition(".")[2] for definition in after)
    touched = [
        definition
        for definition in before
        if definition.span.start < target.stop and target.start < definition.span.stop
    ]
    kinds = {definition.name: definition.kind for definition in touched}
    comparable = set[str]()
    if syntax.facts_of(language).checks_arguments:
        comparable = _find_comparable(old, touched, new, after)
    gone = {definition.name for definition in touched if definition.name not in names}
    old_parameters, new_parameters = (
        syntax.parameters(text, language, comparable) if comparable else {} for text in (old, new)
    )
    found: list[ChangedDefinition] = []
    for name, kind in kinds.items():
        if len(found) >= _MOST_CHANGED:
            break
        scope, _, word = name.rpartition(".")
        parameters = old_parameters.get(name), new_parameters.get(name)
        is_method = kind == "method" or kinds.get(scope) in _CLASSES
        is_gone = name in gone and bool(re.fullmatch(r"[^\W\d]\w*[?!]?", word))
        # What stands in a definition that was renamed is still there, under its new name.
        if is_gone and not (scope in gone and words[word]):
            if not is_method and _is_bound_anew(new, language, word, after):
                continue
            parameters = None, None
        elif None in parameters or parameters[0] == parameters[1]:
            continue
        constructs = language == "python" and word == "__init__" and is_method
        first = parameters[0][0].name if parameters[0] else ""
        found.append(
            ChangedDefinition(
                name=name,
                word=scope.rpartition(".")[2] if constructs else word,
                language=language,
                old=parameters[0],
                new=parameters[1],
                is_method=is_method and not constructs,
                is_nested=bool(scope) and not is_method,
                is_ambiguous=words[word] > (name in names),
                is_bound=is_method and language == "python" and first in ("self", "cls"),
            )
        )
    return tuple(found)


def _find_comparable(
    old: str, before: Sequence[Target], new: str, after: Sequence[Target]
) -> set[str]:
    """Return the names of the functions that both texts have once, and not with the same text."""
    n_before = Counter(definition.name for definition in before)
    n_after = Counter(definition.name for definition in after)
    new_texts = {definition.name: definition.span.of(new) for definition in after}
    return {
        definition.name
        for definition in before
        if n_before[definition.name] == n_after[definition.name] == 1
        and definition.span.of(old) != new_texts[definition.name]
    }


def find_callers(
    text: str,
    language: str | None,
    changed: Sequence[ChangedDefinition],
    *,
    path: str = "",
    module: str | None = None,
) -> tuple[Caller, ...]:
    """Return the lines of `text`, after the edit, that use one of `changed` as it was.

    path: of the file, for the result. module: where the definitions stand in another file, the name
    by which this one may import that.
    """
    if language is None:
        return ()
    used = [
        definition
        for definition in changed
        if definition.language == language and definition.word in text
    ]
    if not used:
        return ()
    index = LineIndex(text)
    imports, definitions = (
        syntax.import_statements(text, language),
        syntax.targets(text, language),
    )
    found: dict[tuple[str, int], Caller] = {}
    for definition in used:
        for use in _Uses(text, definition, module, imports, definitions).find():
            line = index.line_at(use.span.start)
            words = index.line_span(line).of(text).strip()
            caller = Caller(line=line + 1, text=words, definition=definition.name, path=path)
            found.setdefault((definition.name, line), caller)
    return tuple(found.values())


def describe_callers(callers: Sequence[Caller]) -> tuple[str, ...]:
    """Return a sentence for each definition: "2 lines still use the old form of f: 12, 40"."""
    sentences: list[str] = []
    for definition in dict.fromkeys(caller.definition for caller in callers):
        places = [
            f"{caller.path}:{caller.line}" if caller.path else str(caller.line)
            for caller in callers
            if caller.definition == definition
        ]
        n, more = len(places), len(places) - _MOST_LISTED
        listed = ", ".join(places[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
        verb = "line still uses" if n == 1 else "lines still use"
        sentences.append(f"{n} {verb} the old form of {definition}: {listed}")
    return tuple(sentences)


def _is_bound_anew(text: str, language: str, word: str, definitions: Sequence[Target]) -> bool:
    """Return True where `word` still stands for something at the top level, as an alias does."""
    classes = [definition.span for definition in definitions if definition.kind in _CLASSES]
    return any(
        use.is_binding and not use.is_local and not any(use.span in span for span in classes)
        for use in syntax.uses(text, language, word)
    )


class _Uses:
    """The uses of one definition in a text."""

    def __init__(
        self,
        text: str,
        definition: ChangedDefinition,
        module: str | None,
        imports: Sequence[Span],
        definitions: Sequence[Target],
    ) -> None:
        self._definition = definition
        self._language = syntax.facts_of(definition.language)
        self._module = module
        self._uses = syntax.uses(text, definition.language, definition.word)
        self._around = [target.span for target in definitions if target.name == definition.scope]
        self._has_same = any(
            target.name.rpartition(".")[2] == definition.word for target in definitions
        )
        self._imports = imports
        imported = {
            name for span in self._imports for name in re.findall(r"[^\W\d]\w*", span.of(text))
        }
        self._is_imported = definition.word in imported
        self._has_module = module in imported

    def find(self) -> Iterator[Use]:
        """Yield those that may well be of the definition, and do not fit its new form."""
        definition = self._definition
        for use in self._uses:
            if use.is_binding or use.is_local or not self._is_meant(use):
                continue
            if definition.old is None or definition.new is None:
                yield use
            elif use.call and not self._is_unbound(use):
                n_bound = int(definition.is_bound)
                old, new = definition.old[n_bound:], definition.new[n_bound:]
                if _fits(use.call, old) and not _fits(use.call, new):
                    yield use

    def _is_meant(self, use: Use) -> bool:
        definition = self._definition
        is_elsewhere = self._module is not None
        if any(use.span in span for span in self._imports):
            return is_elsewhere and not definition.is_method and not definition.is_nested
        if definition.is_method:
            return self._is_method_meant(use)
        if definition.is_nested:
            return not is_elsewhere and use.receiver is None and self._is_inside(use)
        if use.receiver is not None:
            return is_elsewhere and self._has_module and use.receiver == self._module
        if not is_elsewhere:
            return True
        return self._is_imported if self._language.imports_names else not self._has_same

    def _is_method_meant(self, use: Use) -> bool:
        definition = self._definition
        if self._module is not None:
            is_known = not (definition.is_ambiguous or self._has_same)
            return bool(use.receiver is not None and is_known and definition.word not in _COMMON)
        if use.receiver is None:
            return self._language.has_implicit_self and self._is_inside(use)
        if use.receiver in _SELF:
            return self._is_inside(use)
        return not definition.is_ambiguous and definition.word not in _COMMON

    def _is_inside(self, use: Use) -> bool:
        """Return True in the class or function of the definition; anywhere where that is gone."""
        return not self._around or any(use.span in span for span in self._around)

    def _is_unbound(self, use: Use) -> bool:
        """Return True for `Cart.total(cart)`, which passes what is bound elsewhere."""
        definition = self._definition
        return definition.is_method and use.receiver == definition.scope.rpartition(".")[2]


def _fits(call: Call, parameters: Sequence[Parameter]) -> bool:
    """Return True where a function with `parameters` takes the arguments of `call`, or may."""
    kinds = {parameter.kind for parameter in parameters}
    positional = [target for target in parameters if target.kind in ("any", "positional_only")]
    named = {target.name for target in parameters if target.kind in ("any", "keyword_only")}
    if call.n_positional > len(positional) and "variadic" not in kinds:
        return False
    if "keywords" not in kinds and not named.issuperset(call.keywords):
        return False
    rest = positional[call.n_positional :]
    rest += [target for target in parameters if target.kind == "keyword_only"]
    missing = [
        target for target in rest if not target.is_optional and target.name not in call.keywords
    ]
    return not missing or not call.is_certain
