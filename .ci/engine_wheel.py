"""Building the engine (llama-cpp-python) as a wheel for this machine, kept outside the clone.

Standard library only. A build depends on the CPU it was made on and on its compiler flags, so the
wheels lie in the user's cache, under a key made of all these. Knows nothing of virtual environments
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
# llama.cpp's helpers for its own programs (chat parsers, downloads) are half of the compiling,
# and the binding uses none of them. Its CMakeLists.txt forces them on, so this file is included
# behind llama.cpp's project(), where a plain variable wins over the cache (policy CMP0077).
WITHOUT_COMMON = "set(LLAMA_BUILD_COMMON OFF)\n"
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
    """Set-up cannot continue; the message says what to do."""


def find_or_build_wheel(python: Path) -> Path:
    """Return the engine's wheel for this machine, built with `python`'s pip if there is none yet.

    For one caller at a time. Raises SetupError where there is no compiler or the build fails.
    """
    folder = cache_folder() / "wheels" / build_key()
    if ready := sorted(folder.glob("*.whl")):
        return ready[0]
    check_compilers()
    folder.mkdir(parents=True, exist_ok=True)
    for left_by_a_killed_build in folder.glob("building-*"):
        shutil.rmtree(left_by_a_killed_build, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="building-") as scratch:
        build(python, Path(scratch), folder / "build.log")
        wheel = next(Path(scratch).glob("*.whl"))
        return wheel.replace(folder / wheel.name)


def build_key() -> str:
    """Return a hash of what a build depends on: version, settings, system and CPU."""
    settings = [f"{name}={value}" for name, value in sorted(build_settings().items())]
    system = (platform.system(), platform.machine(), *platform.libc_ver())
    return digest(ENGINE, WITHOUT_COMMON, *settings, *system, describe_cpu())[:16]


def build_settings() -> dict[str, str]:
    """Return the environment variables that shape the build: the user's, after ours."""
    names = ("CMAKE_ARGS", *COMPILERS, "CFLAGS", "CXXFLAGS")
    settings = {name: os.environ[name] for name in names if os.environ.get(name)}
    if sys.platform == "linux":
        settings["CMAKE_ARGS"] = f"-DLLAVA_BUILD=OFF {settings.get('CMAKE_ARGS', '')}".strip()
    if sys.platform == "linux" and platform.machine() == "x86_64":
        # llama.cpp's AMX kernels end in an illegal instruction on machines whose CPU claims AMX
        # while the system does not permit it.
        for name in ("CFLAGS", "CXXFLAGS"):
            settings[name] = f"{' '.join(NO_AMX)} {settings.get(name, '')}".strip()
    return settings


def describe_cpu() -> str:
    """Return the CPU's model and features, as far as the system reports them."""
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    first_core = Path("/proc/cpuinfo").read_text(errors="replace").split("\n\n")[0]
    lines = (line.partition(":") for line in first_core.splitlines())
    relevant = ("model name", "flags", "Features", "CPU implementer", "CPU part", "isa")
    return "\n".join(value.strip() for name, _, value in lines if name.strip() in relevant)


def check_compilers() -> None:
    """Raise SetupError, with advice, unless there are a C and a C++ compiler."""
    for variable, names in COMPILERS.items():
        if find_compiler(variable) is None:
            missing = os.environ.get(variable) or ", ".join(names[:-1]) + f" or {names[-1]}"
            raise SetupError(COMPILER_HELP.format(missing=missing))


def find_compiler(variable: str) -> str | None:
    """Return the path of the compiler named by `variable` (CC or CXX), or of the usual one."""
    named = shlex.split(os.environ.get(variable, ""))
    names = named[:1] or COMPILERS[variable]
    return next(filter(None, map(shutil.which, names)), None)


def build(python: Path, scratch: Path, log: Path) -> None:
    """Build the wheel into `scratch`; the output of pip and the compiler goes to `log`."""
    print_status(f"building {ENGINE} for this machine, once (1 to 5 minutes); log: {log}")
    # --no-cache-dir: pip's cache of built wheels ignores CFLAGS, so that it might return a build
    # with AMX made earlier on this machine.
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
        tail = deque(log_build(pip.stdout or (), written), maxlen=LOG_LINES_SHOWN)
    if pip.returncode:
        sys.stderr.writelines(tail)
        raise SetupError(BUILD_HELP.format(log=log))


def build_environment(scratch: Path) -> dict[str, str]:
    """Return the environment of the build: its files in `scratch`, flags the compiler accepts."""
    settings = build_settings()
    for variable, flags in (("CC", "CFLAGS"), ("CXX", "CXXFLAGS")):
        if flags in settings and not accepts_no_amx(variable):
            settings[flags] = settings[flags].removeprefix(" ".join(NO_AMX)).strip()
    if sys.platform == "linux":  # elsewhere images are built too, which was not tried without them
        included = scratch / "without_common.cmake"
        included.write_text(WITHOUT_COMMON, encoding="utf-8")
        include = f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={included}"
        settings["CMAKE_ARGS"] = f"{include} {settings.get('CMAKE_ARGS', '')}".strip()
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 1)
    return {
        **os.environ,
        **settings,
        "TMPDIR": str(scratch),
        "CMAKE_BUILD_PARALLEL_LEVEL": jobs,
    }


def accepts_no_amx(variable: str) -> bool:
    """Return True where the compiler knows AMX; one that does not will not use it either."""
    command = [find_compiler(variable) or variable, *NO_AMX, "-x", "c", "-c", "-o", os.devnull, "-"]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return result.returncode == 0


def log_build(lines: Iterable[str], log: IO[str]) -> Iterator[str]:
    """Yield `lines`, write them to `log`, and print every few seconds how far the build is."""
    start = reported = time.monotonic()
    for line in lines:
        log.write(line)
        yield line
        now = time.monotonic()
        step = re.search(r"\[\s*(\d+/\d+|\d+%)\]", line)
        if step and now - reported >= PROGRESS_EVERY_S:
            reported = now
            print_status(f"  compiling: {step[1]}, {now - start:.0f} s")


def cache_folder() -> Path:
    """Return the folder for what can be built or fetched again, one for all clones of this user."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "redraft"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redraft"


def digest(*parts: str) -> str:
    """Return a hash of `parts`, in this order."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def print_status(text: str) -> None:
    """Print to stderr, which leaves stdout to the command that set-up runs for."""
    print(text, file=sys.stderr, flush=True)
