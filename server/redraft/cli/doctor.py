"""`redraft doctor`: what this installation is made of, and whether it can really decode.

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

__all__ = ["Finding", "add_parser", "describe_cpu", "handler", "probe"]

PROBE: Final = (sys.executable, "-m", "redraft.cli.probe")

_TIMEOUT_S: Final = 300.0  # a large model on a slow disk takes minutes to load

_REBUILD: Final = (
    'CFLAGS="{flags}" CXXFLAGS="{flags}" CMAKE_ARGS="{cmake}"'
    f" {sys.executable} -m pip install --force-reinstall --no-deps --no-cache-dir"
    " --no-binary llama-cpp-python llama-cpp-python"
)

State: TypeAlias = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at; `cure` says what to do about it where something is to be done."""

    name: str
    state: State
    detail: str
    cure: str = ""


def add_parser(subparsers: Subparsers) -> None:
    """Add the verb `doctor`."""
    parser = subparsers.add_parser(
        "doctor",
        help="check this installation with one real decode",
        description="Check this installation: versions, backend, memory, model, one real decode.",
        epilog="exit codes: 0 nothing is broken (a model may still be missing), 2 something is.",
    )
    parser.add_argument("--model", metavar="NAME|PATH", help="the model to decode with")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(handler=handler)


def handler(args: argparse.Namespace) -> int:
    """Examine, print and judge."""
    found = []
    for finding in _examine(args.model):
        found.append(finding)
        if not args.json:
            _print(finding)
    is_ok = all(finding.state != "failed" for finding in found)
    if args.json:
        print_json({"ok": is_ok, "findings": [asdict(finding) for finding in found]})
    return 0 if is_ok else 2


def _print(finding: Finding) -> None:
    mark = {"ok": "ok", "warning": "--", "failed": "!!"}[finding.state]
    print(f"{mark}  {finding.name:<9} {finding.detail}", flush=True)
    if finding.cure:
        print(f"{'':14}{finding.cure}", flush=True)


def _examine(model: str | None) -> Iterator[Finding]:
    python = f"Python {platform.python_version()} ({sys.executable})"
    yield _ok("redraft", f"{__version__}, {python}")
    yield _ok("platform", f"{platform.platform()}, {describe_cpu()}")
    yield _memory()
    yield _grammars()
    yield _folders()
    try:
        wanted = settings.load(Path.cwd(), {"model": model}, os.environ).model
    except InputError as error:
        yield _failed("settings", error)
        return
    paths: list[str] = []
    try:
        path = models.resolve(wanted)
        paths.append(str(path))
        yield _ok("model", f"{path}, {path.stat().st_size / 1e9:.2f} GB")
    except ModelError as error:
        yield _no_model(wanted, error)
    yield from probe([*PROBE, *paths], _TIMEOUT_S)


def _ok(name: str, detail: str) -> Finding:
    return Finding(name=name, state="ok", detail=detail)


def _failed(name: str, error: Exception | str, cure: str = "") -> Finding:
    return Finding(name=name, state="failed", detail=str(error), cure=cure)


def _memory() -> Finding:
    memory = psutil.virtual_memory()
    total, free = (f"{size / 1e9:.1f} GB" for size in (memory.total, memory.available))
    detail = f"{total}, {free} of it available"
    needed = f"{models.DEFAULT.name} needs {models.DEFAULT.memory / 1e9:.1f} GB"
    if models.DEFAULT.fits(memory.total):
        return _ok("memory", f"{detail}; {needed}")
    return Finding(name="memory", state="warning", detail=f"{detail}, but {needed}")


def _grammars() -> Finding:
    broken = [f"{name} ({why})" for name in syntax.LANGUAGES if (why := _fault_of(name))]
    if broken:
        cure = f"{sys.executable} -m pip install --force-reinstall redraft"
        return _failed("grammars", f"cannot load {', '.join(broken)}", cure)
    return _ok("grammars", " ".join(syntax.LANGUAGES))


def _fault_of(language: str) -> str:
    """Why the grammar does not load; "" where it does."""
    try:
        syntax.parse_errors("", language)
    except (ImportError, ValueError) as error:  # ValueError: built for another tree-sitter
        return str(error)
    return ""


def _folders() -> Finding:
    folders = models.ModelFolders.of_user()
    own = settings.user_file()
    none = "" if own.exists() else " (none yet)"
    return _ok("folders", f"models {folders.models}, cache {folders.cache}, settings {own}{none}")


def _no_model(wanted: str | None, error: ModelError) -> Finding:
    """A model that is only not fetched yet is nothing broken; a wrong name or a bad file is."""
    named = [model for model in models.MODELS if model.name == (wanted or models.DEFAULT.name)]
    is_missing = bool(named) and not models.ModelFolders.of_user().path_of(named[0]).exists()
    return Finding(name="model", state="warning" if is_missing else "failed", detail=str(error))


def probe(command: Sequence[str], timeout_s: float) -> Iterator[Finding]:
    """Run a probe and say how it went: the library it loaded, then the decode it made.

    `command` prints JSON objects, as `redraft.cli.probe` does, and may die of any signal.
    """
    try:
        child = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        yield _failed("decode", f"no answer within {timeout_s:g} s", "Try a smaller model.")
        return
    said = [json.loads(line) for line in child.stdout.splitlines() if line.startswith('{"')]
    known: dict[str, Any] = {key: value for line in said for key, value in line.items()}
    yield from _library(known)
    yield from _decode(known)
    if child.returncode < 0:
        yield _crash(signal.Signals(-child.returncode))
    elif child.returncode and "error" not in known:
        last = child.stderr.strip().rpartition("\n")[2]
        yield _failed("engine", last or f"exit code {child.returncode}", _rebuild())


def _library(known: dict[str, Any]) -> Iterator[Finding]:
    if "backend" in known:
        versions = ", ".join(f"{name} {version}" for name, version in known["versions"].items())
        yield _ok("engine", f"{versions}; backend {known['backend']}")


def _decode(known: dict[str, Any]) -> Iterator[Finding]:
    if "error" in known:
        yield _failed("decode", known["error"])
    elif "output_tokens" in known:
        yield _ok(
            "decode",
            f"{known['prompt_tokens']} prompt tokens in {known['prefill_s']:.1f} s, then"
            f" {known['output_tokens']} tokens at {known['tokens_per_s']:.1f} tokens/s",
        )


def _crash(number: signal.Signals) -> Finding:
    died = f"the decode died of {number.name} ({signal.strsignal(number)})"
    if number is signal.SIGILL:
        return _failed("decode", f"{died}: llama.cpp was built for another CPU", _rebuild())
    if number is signal.SIGKILL:
        return _failed("decode", f"{died}: most likely out of memory", "Choose a smaller model.")
    return _failed("decode", f"{died}: a fault of the native library or of its build", _rebuild())


def _rebuild() -> str:
    if sys.platform == "linux" and platform.machine() == "x86_64":
        flags = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
        return _REBUILD.format(flags=flags, cmake="-DLLAVA_BUILD=OFF")
    return _REBUILD.format(flags="", cmake="-DGGML_NATIVE=OFF")


_FEATURES: Final = frozenset(
    {
        *("avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni"),
        *("amx_tile", "amx_int8", "amx_bf16"),
        *("asimd", "asimddp", "i8mm", "sve", "sme"),
    }
)


def describe_cpu() -> str:
    """One line: the name, and on Linux the features; "unknown CPU" where the system is silent."""
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        return said or platform.machine()
    return _from_cpuinfo(_cpuinfo())


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _from_cpuinfo(text: str) -> str:
    known: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        known.setdefault(key.strip(), value.strip())
    name = known.get("model name") or platform.machine() or "unknown CPU"
    flags = (known.get("flags") or known.get("Features") or "").split()
    features = [flag for flag in flags if flag in _FEATURES]
    return f"{name} ({' '.join(features)})" if features else name
