"""The engine (llama-cpp-python) as a wheel built for this machine, kept outside the clone.

Standard library only. A build is tied to the CPU it was made on and to its compiler flags, so the
wheels lie in the user's cache under a key of all these. Knows nothing of virtual environments
beyond the interpreter it is given.
"""

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

ENGINE = "llama-cpp-python==0.3.36"
NO_AMX = ("-mno-amx-tile", "-mno-amx-int8", "-mno-amx-bf16")
COMPILERS = {"CC": ("cc", "gcc", "clang"), "CXX": ("c++", "g++", "clang++")}

PROGRESS_EVERY_S = 10
LOG_LINES_SHOWN = 30

COMPILER_HELP = """there is no C and C++ compiler: no {missing} was found.
Debian and Ubuntu: `sudo apt-get install build-essential`; Fedora: `sudo dnf install gcc-c++`;
macOS: `xcode-select --install`. Or name yours in CC and CXX. Then run make again."""
BUILD_HELP = """the engine could not be built. The end of the log is above, all of it in
{log}
No network: the source (77 MB) comes from the Python package index; connect and run make again.
Compiler missing or too old for C++17: Debian and Ubuntu `sudo apt-get install build-essential`,
Fedora `sudo dnf install gcc-c++`, macOS `xcode-select --install`.
Killed for lack of memory: CMAKE_BUILD_PARALLEL_LEVEL=1 make setup"""


class SetupError(Exception):
    """Set-up cannot go on; the message says what to do."""


def find_or_build(python: Path) -> Path:
    """The engine's wheel for this machine, built with `python`'s pip unless it was built before.

    One caller at a time. Raises SetupError when there is no compiler or the build fails.
    """
    folder = cache_folder() / "wheels" / key()
    if ready := sorted(folder.glob("*.whl")):
        return ready[0]
    need_compilers()
    folder.mkdir(parents=True, exist_ok=True)
    for left_by_a_killed_build in folder.glob("building-*"):
        shutil.rmtree(left_by_a_killed_build, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="building-") as scratch:
        build(python, Path(scratch), folder / "build.log")
        wheel = next(Path(scratch).glob("*.whl"))
        return wheel.replace(folder / wheel.name)


def key() -> str:
    """Names one build of the engine: its version and settings, the system and the CPU."""
    settings = [f"{name}={value}" for name, value in sorted(build_settings().items())]
    system = (platform.system(), platform.machine(), *platform.libc_ver())
    return digest(ENGINE, *settings, *system, cpu())[:16]


def build_settings() -> dict[str, str]:
    """The environment variables that shape the build: the user's, with ours in front."""
    names = ("CMAKE_ARGS", *COMPILERS, "CFLAGS", "CXXFLAGS")
    settings = {name: os.environ[name] for name in names if os.environ.get(name)}
    if sys.platform == "linux":
        settings["CMAKE_ARGS"] = f"-DLLAVA_BUILD=OFF {settings.get('CMAKE_ARGS', '')}".strip()
    if sys.platform == "linux" and platform.machine() == "x86_64":
        # llama.cpp's AMX kernels end in an illegal instruction on machines whose CPU names AMX
        # while the system does not grant it.
        for name in ("CFLAGS", "CXXFLAGS"):
            settings[name] = f"{' '.join(NO_AMX)} {settings.get(name, '')}".strip()
    return settings


def cpu() -> str:
    """The CPU's model and features, as far as the system tells."""
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    first_core = Path("/proc/cpuinfo").read_text(errors="replace").split("\n\n")[0]
    lines = (line.partition(":") for line in first_core.splitlines())
    telling = ("model name", "flags", "Features", "CPU implementer", "CPU part", "isa")
    return "\n".join(value.strip() for name, _, value in lines if name.strip() in telling)


def need_compilers() -> None:
    """Stop with advice unless a C and a C++ compiler are there."""
    for variable, names in COMPILERS.items():
        if find_compiler(variable) is None:
            missing = os.environ.get(variable) or ", ".join(names[:-1]) + f" or {names[-1]}"
            raise SetupError(COMPILER_HELP.format(missing=missing))


def find_compiler(variable: str) -> str | None:
    """Where the compiler named by `variable` (CC or CXX), or else the usual one, lies."""
    named = shlex.split(os.environ.get(variable, ""))
    names = named[:1] or COMPILERS[variable]
    return next(filter(None, map(shutil.which, names)), None)


def build(python: Path, scratch: Path, log: Path) -> None:
    """Build the wheel into `scratch`; what pip and the compiler say goes to `log`."""
    say(f"building {ENGINE} for this machine, once (2 to 10 minutes); log: {log}")
    # --no-cache-dir: pip's cache of built wheels does not know about CFLAGS, so that a build with
    # AMX made earlier on this machine would be handed to us.
    command = [
        *(str(python), "-m", "pip", "--disable-pip-version-check", "--no-input", "wheel"),
        *("--verbose", "--no-deps", "--no-cache-dir", "--no-binary=llama-cpp-python"),
        *("--progress-bar=off", f"--wheel-dir={scratch}", ENGINE),
    ]
    with (
        log.open("w", encoding="utf-8", buffering=1) as written,
        subprocess.Popen(
            command,
            env=build_environment(scratch),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as pip,
    ):
        tail = deque(watch(pip.stdout or (), written), maxlen=LOG_LINES_SHOWN)
    if pip.returncode:
        sys.stderr.writelines(tail)
        raise SetupError(BUILD_HELP.format(log=log))


def build_environment(scratch: Path) -> dict[str, str]:
    """The environment to build in: temporary files in `scratch`, flags the compiler can take."""
    settings = build_settings()
    for variable, flags in (("CC", "CFLAGS"), ("CXX", "CXXFLAGS")):
        if flags in settings and not takes_no_amx(variable):
            settings[flags] = settings[flags].removeprefix(" ".join(NO_AMX)).strip()
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 1)
    own = {"TMPDIR": str(scratch), "CMAKE_BUILD_PARALLEL_LEVEL": jobs}
    return {**os.environ, **settings, **own}


def takes_no_amx(variable: str) -> bool:
    """Whether the compiler knows AMX; one that does not will not use it either."""
    command = [find_compiler(variable) or variable, *NO_AMX, "-x", "c", "-c", "-o", os.devnull, "-"]
    tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return tried.returncode == 0


def watch(lines: Iterable[str], log: IO[str]) -> Iterator[str]:
    """Pass `lines` on, write them to `log`, and say every few seconds how far the build is."""
    start = said = time.monotonic()
    for line in lines:
        log.write(line)
        yield line
        now = time.monotonic()
        step = re.search(r"\[\s*(\d+/\d+|\d+%)\]", line)
        if step and now - said >= PROGRESS_EVERY_S:
            said = now
            say(f"  compiling: {step[1]}, {now - start:.0f} s")


def cache_folder() -> Path:
    """Where redraft keeps what it can make or fetch again, for this user and all clones."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "redraft"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redraft"


def digest(*parts: str) -> str:
    """A short name for `parts`, each of which matters, in this order."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def say(text: str) -> None:
    """Tell the user where set-up stands; standard output stays free for the command's own."""
    print(text, file=sys.stderr, flush=True)
