"""Tell what was refused and what failed in SARIF 2.1.0, for tools that annotate code.

The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, get_args
from urllib.parse import quote

from redraft import __version__
from redraft.codemod.plan import InaccessibleFile
from redraft.codemod.results import FileResult
from redraft.records import Reason, Refused

__all__ = ["build_sarif"]

# A failure is of the whole file, and the format wants a line.
_FIRST_LINE: Final[Mapping[str, int]] = {"startLine": 1}


def build_sarif(
    results: Iterable[FileResult], inaccessible: Iterable[InaccessibleFile]
) -> dict[str, Any]:
    """Return one log with a result for each refusal and each failure.

    Paths are relative to the root; lines count from 1.
    """
    alerts = [_build_alert("failed", file.message, file.path, _FIRST_LINE) for file in inaccessible]
    for file in results:
        if file.state in ("failed", "rolled_back"):
            alerts.append(_build_alert(file.state, file.message, file.path, _FIRST_LINE))
        for target in file.targets:
            if isinstance(target.outcome, Refused):
                reason, message = target.outcome.reason, target.outcome.message
                region = {"startLine": target.line, "endLine": target.last_line}
                alerts.append(_build_alert(reason, message, file.path, region))
    rules = [{"id": reason} for reason in (*get_args(Reason), "failed", "rolled_back")]
    driver = {"name": "redraft", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": alerts}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }


def _build_alert(rule: str, message: str, path: str, region: Mapping[str, int]) -> dict[str, Any]:
    artifact = {"uri": quote(path), "uriBaseId": "%SRCROOT%"}
    location = {"artifactLocation": artifact, "region": region}
    return {
        "ruleId": rule,
        "level": "error" if rule in ("failed", "rolled_back") else "warning",
        "message": {"text": message},
        "locations": [{"physicalLocation": location}],
    }
