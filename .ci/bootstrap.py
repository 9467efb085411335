"""Set up .venv: redraft in editable form, its tools, and the engine built for this machine.

Called by make, which chooses the Python. Needs the standard library and a C and C++ compiler, asks
no questions, and may be killed at any moment: the stamp in .venv is written last, and a .venv
without its stamp is made again. With the stamp in place nothing is touched and no network is used.
Knows nothing of models; only `engine_wheel` knows how the engine is built.
"""

import contextlib
import fcntl
import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import engine_wheel
from engine_wheel import SetupError, cache_folder, digest, print_status

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "redraft-setup.json"

VENV_HELP = """this Python cannot make a virtual environment with pip: {error}
Debian and Ubuntu: `sudo apt-get install python3.{minor}-venv`, then run make again."""
PIP_HELP = """pip could not install what redraft needs: see its message above.
No network, or a proxy? Set it up for pip (pip.conf, or HTTPS_PROXY), then run make again."""


def set_up() -> None:
    """Make .venv what pyproject.toml, these scripts and this machine require.

    Raises SetupError, with advice, where that cannot be done.
    """
    required = {"machine": machine_key(), "project": project_key()}
    if read_stamp() == required:
        return
    with one_at_a_time():
        stamp = read_stamp()
        if stamp == required:
            return
        if VENV.is_symlink() and stamp.get("machine") != required["machine"]:
            VENV.unlink()  # it leads to the environment of another clone
        STAMP.unlink(missing_ok=True)
        if stamp.get("machine") != required["machine"]:
            make_venv()
        install(engine_wheel.find_or_build_wheel(VENV / "bin" / "python"))
        STAMP.write_text(json.dumps(required), encoding="utf-8")
        print_status("ready")


def read_stamp() -> dict[str, str]:
    """Return what .venv was made for; empty if it is missing, unfinished or without a Python."""
    if not (VENV / "bin" / "python").exists():
        return {}
    try:
        return dict(json.loads(STAMP.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def machine_key() -> str:
    """Return a hash of what requires another .venv: its path, its Python and its engine."""
    return digest(str(ROOT), sys.version, sys.base_prefix, engine_wheel.build_key())


def project_key() -> str:
    """Return a hash of what requires another installation into .venv."""
    sources = (ROOT / "pyproject.toml", *sorted(Path(__file__).parent.glob("*.py")))
    return digest(*(source.read_text(encoding="utf-8") for source in sources))


def make_venv() -> None:
    """Make an empty .venv in place of any that is there."""
    print_status(f"making {VENV} with Python {platform.python_version()}")
    command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if result.returncode:
        error = (result.stdout + result.stderr).strip()
        raise SetupError(VENV_HELP.format(error=error, minor=sys.version_info[1]))


def install(wheel: Path) -> None:
    """Install the engine, redraft in editable form, and the tools the tests need."""
    print_status("installing redraft and its tools into .venv")
    # The engine is given as a file: pip would otherwise be free to choose another build of it.
    requirements = [str(wheel), "--editable", f"{ROOT}[dev]"]
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    if subprocess.run([*pip, "install", "--quiet", *requirements], check=False).returncode:
        raise SetupError(PIP_HELP)


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait for other set-ups of this user to end; the lock ends with the process."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "setup.lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print_status("waiting for another set-up to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        set_up()
    except SetupError as error:
        sys.exit(f"redraft set-up failed: {error}")
    except KeyboardInterrupt:
        sys.exit("redraft set-up stopped; the next make continues from here")
