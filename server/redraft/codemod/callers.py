"""Lines of the files of a run that still use what its edits renamed or gave other parameters.

A file that was edited early may be called from one that is edited late, so they are looked for once
the run is over, in the texts as it leaves them.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from redraft.codemod.journal import RunLog
from redraft.codemod.plan import Plan
from redraft.codemod.results import FileResult
from redraft.codemod.write import recall_write
from redraft.errors import InputError
from redraft.postprocess.callers import ChangedDefinition, changed_definitions, find_callers
from redraft.records import Caller
from redraft.text import files

__all__ = ["CallerSearch"]


class CallerSearch:
    """Takes note of the results of a run, then finds the callers in all files of `plan`."""

    def __init__(self, plan: Plan) -> None:
        self._root = Path(plan.root)
        self._files = {file.path: file for file in plan.files}
        self._changed: dict[str, tuple[ChangedDefinition, ...]] = {}
        self._texts: dict[str, str] = {}

    def resume(self, log: RunLog) -> None:
        """Take note of what earlier processes wrote, and search all files of their plan as well.

        A file that was changed since is searched, but what the run did to it is not known any more.
        """
        self._files = {file.path: file for file in log.started.files} | self._files
        for path, closed in log.closed.items():
            if closed.written and (result := recall_write(self._root, log.announced[path])):
                self.add(result)

    def add(self, result: FileResult) -> None:
        """Take note of one file; of one that was put back or failed there is nothing to note."""
        document, file = result.document, self._files.get(result.path)
        if result.state != "changed" or file is None or document is None or not result.new_text:
            return
        self._texts[result.path] = result.new_text
        changed = (
            definition
            for target in file.targets
            for definition in changed_definitions(
                document.text, result.new_text, target.span, file.language
            )
        )
        if found := tuple(dict.fromkeys(changed)):
            self._changed[result.path] = found

    def find(self) -> tuple[Caller, ...]:
        """Return the lines, with the path of their file, in the order of the plan."""
        return tuple(self._find()) if self._changed else ()

    def _find(self) -> Iterator[Caller]:
        for file in self._files.values():
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
            return files.read(self._root / path).text
        except InputError:
            return None
