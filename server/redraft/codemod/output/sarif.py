"""What was refused and what failed, as SARIF 2.1.0 for tools that annotate code.

The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from collections.abc import Iterable, Iterator
from typing import Any, get_args
from urllib.parse import quote

from redraft import __version__
from redraft.codemod.plan import Broken
from redraft.codemod.results import FileResult
from redraft.records import Reason, Refused

__all__ = ["sarif"]


def sarif(results: Iterable[FileResult], broken: Iterable[Broken]) -> dict[str, Any]:
    """One log with a result for each refusal and each failure; paths are relative to the root."""
    found = [*(_failed(one.path, one.message) for one in broken), *_all(results)]
    rules = [{"id": reason} for reason in (*get_args(Reason), "failed", "rolled_back")]
    driver = {"name": "redraft", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": found}],
    }


def _all(results: Iterable[FileResult]) -> Iterator[dict[str, Any]]:
    for file in results:
        if file.state in ("failed", "rolled_back"):
            yield _failed(file.path, file.message, file.state)
        for target in file.targets:
            if isinstance(target.ending, Refused):
                region = {"startLine": target.line, "endLine": target.last_line}
                yield _result(target.ending.reason, target.ending.message, file.path, region)


def _failed(path: str, message: str, rule: str = "failed") -> dict[str, Any]:
    return _result(rule, message, path, {"startLine": 1})


def _result(rule: str, message: str, path: str, region: dict[str, int]) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": quote(path), "uriBaseId": "%SRCROOT%"}, "region": region}
    return {
        "ruleId": rule,
        "level": "error" if rule in ("failed", "rolled_back") else "warning",
        "message": {"text": message},
        "locations": [{"physicalLocation": place}],
    }
