"""The process that a candidate runs in: sets its limits, gives up its rights, runs the program.

Run as a script in an empty folder by `redraft_bench.quality.sandbox`, never imported: `python -I -B
sandbox_child.py SETTINGS PROGRAM`. Standard library only. Its exit status is the `finished` of the
settings where the program ran to its end, so that one which calls `sys.exit(0)` before its tests
has not passed them, and their `out_of_time` where its CPU time was used up.
"""

import json
import os
import resource
import signal
import sys
import types
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from typing import Any

# Audit events (https://docs.python.org/3/library/audit_events.html). A hook cannot be taken out
# again; whatever reaches the kernel all the same meets the limits and, on Linux, the namespaces.
_STARTS = (
    *("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"),
    *(
        "subprocess.Popen",
        "pty.spawn",
        "os.kill",
        "os.killpg",
        "ctypes.dlsym",
        "ctypes.dlsym/handle",
    ),
)
_CONNECTS = (
    *("socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyaddr"),
    *("socket.gethostbyname", "socket.getnameinfo", "socket.sendmsg", "socket.sendto"),
)
# Events that change files, with how many folders, as descriptors, their last arguments are.
_CHANGES = {
    **dict.fromkeys(("os.chflags", "os.removexattr", "os.setxattr", "os.truncate"), 0),
    **dict.fromkeys(("os.chmod", "os.chown", "os.mkdir", "os.remove", "os.rmdir"), 1),
    **dict.fromkeys(("os.symlink", "os.utime"), 1),
    **dict.fromkeys(("os.link", "os.rename"), 2),
}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """Run the program of the command line and end the process."""
    settings, program = json.loads(sys.argv[1]), Path(sys.argv[2])
    code = compile(program.read_bytes(), program, "exec")
    for name, value in settings["limits"].items():
        _set_limit(getattr(resource, name), value)
    signal.signal(signal.SIGXCPU, lambda *_: os._exit(settings["out_of_time"]))
    module = types.ModuleType("__main__")
    module.__file__ = str(program)
    sys.modules["__main__"] = module
    sys.argv = [str(program)]
    sys.addaudithook(_make_hook(os.path.realpath(Path.cwd())))
    exec(code, module.__dict__)  # noqa: S102 - what this process is for
    os._exit(settings["finished"])


def _set_limit(kind: int, value: int) -> None:
    """Lower a limit; where this system has no such limit only the wall clock remains."""
    try:
        # The second of grace is for SIGXCPU, without which SIGKILL would hide the reason.
        grace = 1 if kind == resource.RLIMIT_CPU else 0
        resource.setrlimit(kind, (value, value + grace))
    except (OSError, ValueError):
        sys.stderr.write(f"no limit {kind} on this system\n")


def _make_hook(folder: str) -> Callable[[str, tuple[Any, ...]], None]:
    """Return the hook that forbids processes, connections and changes outside `folder`."""

    def is_outside(path: object, base: object = -1) -> bool:
        if not isinstance(path, str | bytes):
            return False
        above = Path() if base == -1 else Path(f"/proc/self/fd/{base}")
        real = os.path.realpath(above / os.fsdecode(path))
        return real != os.devnull and os.path.commonpath([real, folder]) != folder

    def changes_outside(event: str, args: tuple[Any, ...]) -> bool:
        if event == "open":
            path, _, flags = args
            return isinstance(flags, int) and bool(flags & _WRITES) and is_outside(path)
        if event not in _CHANGES:
            return False
        n_paths = len(args) - _CHANGES[event]
        bases = args[n_paths:] or (-1,)
        return any(map(is_outside, args[:n_paths], chain(bases, repeat(bases[-1]))))

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in _STARTS or event in _CONNECTS or changes_outside(event, args):
            raise PermissionError(f"{event} is not allowed here: {args!r:.200}")

    return hook


if __name__ == "__main__":
    main()
