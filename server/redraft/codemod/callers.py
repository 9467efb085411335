"""Lines of the files of a run that still use what its edits renamed or gave other parameters.

A file that was edited early may be called from one that is edited late, so they are looked for once
the run is over, in the texts as it leaves them.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from redraft.codemod.plan import Plan
from redraft.codemod.results import FileResult
from redraft.errors import InputError
from redraft.postprocess.callers import ChangedDefinition, changed_definitions, find_callers
from redraft.records import Caller, Rewritten
from redraft.text import files

__all__ = ["CallerSearch"]


class CallerSearch:
    """Takes note of the results of a run, then finds the callers in all files of `plan`."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._languages = {file.path: file.language for file in plan.files}
        self._changed: dict[str, tuple[ChangedDefinition, ...]] = {}
        self._texts: dict[str, str] = {}

    def add(self, result: FileResult) -> None:
        """Take note of one file; of one that was put back or failed there is nothing to note."""
        document, language = result.document, self._languages.get(result.path)
        if result.state != "changed" or document is None or result.new_text is None:
            return
        self._texts[result.path] = result.new_text
        changed = tuple(
            definition
            for target in result.targets
            if isinstance(target.outcome, Rewritten)
            for definition in changed_definitions(
                document.text, target.outcome.new_text, target.target.span, language
            )
        )
        if changed:
            self._changed[result.path] = changed

    def find(self) -> tuple[Caller, ...]:
        """Return the lines, with the path of their file, in the order of the plan."""
        return tuple(self._find()) if self._changed else ()

    def _find(self) -> Iterator[Caller]:
        for file in self._plan.files:
            text = self._texts.get(file.path)
            if text is None and (text := self._read(file.path)) is None:
                continue
            for path, changed in self._changed.items():
                module = None if path == file.path else PurePosixPath(path).stem
                if module == "__init__":  # a package is imported by the name of its folder
                    module = PurePosixPath(path).parent.name
                yield from find_callers(text, file.language, changed, path=file.path, module=module)

    def _read(self, path: str) -> str | None:
        try:
            return files.read(Path(self._plan.root) / path).text
        except InputError:
            return None
