"""What the processor is called and which of its instruction sets matter to llama.cpp."""

import platform
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["describe"]

_FEATURES: Final = frozenset(
    {
        *("avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni"),
        *("amx_tile", "amx_int8", "amx_bf16"),
        *("asimd", "asimddp", "i8mm", "sve", "sme"),
    }
)


def describe() -> str:
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
