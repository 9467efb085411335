"""`redraft doctor`: describe this installation, and try whether it can really decode.

The native library is loaded in a child process only (`redraft.cli.probe`), so that a build that
dies of an illegal instruction is named with its cure instead of taking the doctor with it.
A missing model is a warning, not a failure: nothing is broken, something is still to be fetched.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import psutil

from redraft import __version__, models, syntax
from redraft.cli.options import Subparsers
from redraft.cli.output import print_json
from redraft.config import settings
from redraft.errors import InputError, ModelError

__all__ = ["COSTS_FLAG", "Finding", "add_parser", "describe_cpu", "handler", "probe"]

COSTS_FLAG: Final = "--costs"  # makes the probe measure what passes cost, too
PROBE: Final = (sys.executable, "-m", "redraft.cli.probe")

_TIMEOUT_S: Final = 300.0  # a large model on a slow disk takes minutes to load

_REBUILD: Final = (
    'CFLAGS="{flags}" CXXFLAGS="{flags}" CMAKE_ARGS="{cmake}"'
    f" {sys.executable} -m pip install --force-reinstall --no-deps --no-cache-dir"
    " --no-binary llama-cpp-python llama-cpp-python"
)

FindingState: TypeAlias = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was examined; `cure` says what to do where something is to be done."""

    name: str
    state: FindingState
    detail: str
    cure: str = ""


def add_parser(subparsers: Subparsers) -> None:
    """Add the verb `doctor`."""
    parser = subparsers.add_parser(
        "doctor",
        description="Check this installation: versions, backend, memory, model, one real decode.",
        epilog="exit codes: 0 nothing is broken (a model may still be missing), 2 something is.",
    )
    parser.add_argument("--model", metavar="NAME|PATH", help="the model to decode with")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object")
    form.add_argument(
        "--report",
        action="store_true",
        help="print what a bug report needs, with your settings and what passes cost; it holds"
        " no code, and your home folder is ~",
    )
    parser.set_defaults(handler=handler)


def handler(args: argparse.Namespace) -> int:
    """Print all findings; return 2 where one of them is a failure."""
    findings: list[Finding] = []
    home = str(Path.home())
    if args.report:
        print("```text")
    for finding in _examine(args.model, with_costs=args.report):
        findings.append(finding)
        if not args.json:
            line = _format_finding(finding)
            # At once: the decode that comes last takes a while, and may be what fails.
            print(line.replace(home, "~") if args.report else line, flush=True)
    if args.report:
        print("```")
    is_ok = all(finding.state != "failed" for finding in findings)
    if args.json:
        print_json({"ok": is_ok, "findings": [asdict(finding) for finding in findings]})
    return 0 if is_ok else 2


def _format_finding(finding: Finding) -> str:
    """Return one line, and one more with the cure where there is one."""
    marks: dict[FindingState, str] = {"ok": "ok", "warning": "--", "failed": "!!"}
    line = f"{marks[finding.state]}  {finding.name:<9} {finding.detail}"
    return f"{line}\n{'':14}{finding.cure}" if finding.cure else line


def _examine(model: str | None, *, with_costs: bool) -> Iterator[Finding]:
    """Yield a finding for each part of the installation, the decode last.

    `with_costs` adds the settings that are not the default, and what passes cost.
    """
    python = f"Python {platform.python_version()} ({sys.executable})"
    yield _ok("redraft", f"{__version__}, {python}")
    yield _ok("platform", f"{platform.platform()}, {describe_cpu()}")
    yield _check_memory()
    yield _check_grammars()
    folders, user_file = models.ModelFolders.of_user(), settings.user_file()
    note = "" if user_file.exists() else " (none yet)"
    places = f"models {folders.models}, cache {folders.cache}, settings {user_file}{note}"
    yield _ok("folders", places)
    try:
        config = settings.load(Path.cwd(), {"model": model}, os.environ)
    except InputError as error:
        yield _failed("settings", error)
        return
    if with_costs:
        chosen = dict(asdict(config).items() - asdict(settings.Settings()).items())
        yield _ok("settings", ", ".join(f"{key} {chosen[key]}" for key in sorted(chosen)) or "none")
    name = config.model
    arguments = [COSTS_FLAG] if with_costs else []
    try:
        path = models.resolve(name)
        arguments.append(str(path))
        yield _ok("model", f"{path}, {path.stat().st_size / 1e9:.2f} GB")
    except ModelError as error:
        # A model that is only not fetched yet is nothing broken; a wrong name or a bad file is.
        wanted = name or models.DEFAULT.name
        known = next((model for model in models.MODELS if model.name == wanted), None)
        is_missing = known is not None and not folders.path_of(known).exists()
        state: FindingState = "warning" if is_missing else "failed"
        yield Finding(name="model", state=state, detail=str(error))
    yield from probe([*PROBE, *arguments], _TIMEOUT_S)


def _ok(name: str, detail: str) -> Finding:
    return Finding(name=name, state="ok", detail=detail)


def _failed(name: str, error: Exception | str, cure: str = "") -> Finding:
    return Finding(name=name, state="failed", detail=str(error), cure=cure)


def _check_memory() -> Finding:
    memory = psutil.virtual_memory()
    total, free = (f"{size / 1e9:.1f} GB" for size in (memory.total, memory.available))
    detail = f"{total}, {free} of it available"
    needed = f"{models.DEFAULT.name} needs {models.DEFAULT.memory / 1e9:.1f} GB"
    if models.DEFAULT.fits(memory.total):
        return _ok("memory", f"{detail}; {needed}")
    return Finding(name="memory", state="warning", detail=f"{detail}, but {needed}")


def _check_grammars() -> Finding:
    broken: list[str] = []
    packages: list[str] = []
    for language, facts in syntax.LANGUAGES.items():
        reason = ""
        try:
            syntax.parse_errors("", language)
        except (ImportError, ValueError) as error:  # ValueError: built for another tree-sitter
            reason = str(error)
        if reason:
            broken.append(f"{language} ({reason})")
            packages.append(facts.module.replace("_", "-"))
    if broken:
        cure = f"{sys.executable} -m pip install --force-reinstall {' '.join(packages)}"
        return _failed("grammars", f"cannot load {', '.join(broken)}", cure)
    return _ok("grammars", " ".join(syntax.LANGUAGES))


def probe(command: Sequence[str], timeout_s: float) -> Iterator[Finding]:
    """Run a probe and yield how it went: the library it loaded, then the decode it made.

    `command` prints JSON objects, as `redraft.cli.probe` does, and may die of any signal.
    """
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        yield _failed("decode", f"no answer within {timeout_s:g} s", "Try a smaller model.")
        return
    facts: dict[str, Any] = {}
    for line in process.stdout.splitlines():
        if line.startswith('{"'):  # the library prints on stdout as well
            facts |= json.loads(line)
    if "backend" in facts:
        versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
        yield _ok("engine", f"{versions}; backend {facts['backend']}")
    if "error" in facts:
        yield _failed("decode", facts["error"])
    elif "output_tokens" in facts:
        yield _ok(
            "decode",
            f"{facts['prompt_tokens']} prompt tokens in {facts['prefill_s']:.1f} s, then"
            f" {facts['output_tokens']} tokens at {facts['tokens_per_s']:.1f} tokens/s",
        )
    if "pass_s" in facts:
        costs = (f"{rows} {1000 * float(s):.1f} ms" for rows, s in facts["pass_s"].items())
        yield _ok("costs", f"of a pass, by its tokens: {', '.join(costs)}")
    if process.returncode < 0:
        yield _explain_crash(signal.Signals(-process.returncode))
    elif process.returncode and "error" not in facts:
        last_line = process.stderr.strip().rpartition("\n")[2]
        detail = last_line or f"exit code {process.returncode}"
        yield _failed("engine", detail, _rebuild_command())


def _explain_crash(number: signal.Signals) -> Finding:
    crash = f"the decode died of {number.name} ({signal.strsignal(number)})"
    if number is signal.SIGILL:
        reason = "llama.cpp was built for another CPU"
        return _failed("decode", f"{crash}: {reason}", _rebuild_command())
    if number.name == "SIGKILL":  # which Windows does not have
        return _failed("decode", f"{crash}: most likely out of memory", "Choose a smaller model.")
    reason = "a fault of the native library or of its build"
    return _failed("decode", f"{crash}: {reason}", _rebuild_command())


def _rebuild_command() -> str:
    """Return a command that builds llama.cpp for this machine."""
    if sys.platform == "linux" and platform.machine() == "x86_64":
        flags = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
        return _REBUILD.format(flags=flags, cmake="-DLLAVA_BUILD=OFF")
    return _REBUILD.format(flags="", cmake="-DGGML_NATIVE=OFF")


_CPU_FEATURES: Final = frozenset(
    {
        *("avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni"),
        *("amx_tile", "amx_int8", "amx_bf16"),
        *("asimd", "asimddp", "i8mm", "sve", "sme"),
    }
)


def describe_cpu() -> str:
    """Return the processor's name, on Linux with the instruction sets that matter to llama.cpp.

    "unknown CPU" where the system does not tell.
    """
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        return process.stdout.strip() or platform.machine()
    facts: dict[str, str] = {}
    for line in _read_cpuinfo().splitlines():
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())  # the first processor speaks for all
    name = facts.get("model name") or platform.machine() or "unknown CPU"
    # x86 calls them flags, ARM Features.
    flags = (facts.get("flags") or facts.get("Features") or "").split()
    features = [flag for flag in flags if flag in _CPU_FEATURES]
    return f"{name} ({' '.join(features)})" if features else name


def _read_cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
