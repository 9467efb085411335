"""Kills runs of `redraft codemod` at random moments: python -m tests.redraft.codemod.kill_storm FOLDER N.

Each run is a process of its own, forked from this one so that none has to import everything anew.
Every problem is printed, and the exit code is then 1.
"""
# ruff: noqa: T201 - printing is what a script is for

import os
import random
import re
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.redraft.codemod.scripted_cli import run

from redraft import engine  # noqa: F401 - loads the native library once, before the forks

N_FILES = 4
BEFORE = {
    f"f{n}.py": f"def old_{n}a():\n    return 'é'\n\n\ndef old_{n}b():\r\n    return old\n".encode()
    for n in range(N_FILES)
}
AFTER = {name: data.replace(b"old", b"new") for name, data in BEFORE.items()}
COMMAND = ("codemod", "rename old", ".", "--write", "--resume", "--jobs", "1")


def start(folder: Path, *args: str) -> int:
    """Fork a process that runs `redraft ARGS` in `folder`, and exits as it says."""
    child = os.fork()
    if child:
        return child
    try:
        os.chdir(folder / "code")
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        os.environ["REDRAFT_TEST_LOG"] = str(folder / "replies")
        output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = run(*args)
    finally:
        sys.stdout.flush()
        os._exit(code)


def wait_for_exit(child: int) -> int:
    """The exit code; below 0 the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill(child: int, after_s: float) -> bool:
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    return wait_for_exit(child) == -signal.SIGKILL


def make_tree(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "code").mkdir(parents=True)
    for name, data in BEFORE.items():
        (folder / "code" / name).write_bytes(data)
    return folder


def read_tree(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "code").iterdir())}


def find_problems(folder: Path, random_: random.Random, run_s: float) -> Iterator[str]:
    """Kill a run, perhaps more than once, finish it, undo it likewise; what was not as it must be."""
    n_kills = 0
    for _ in range(random_.choice([1, 1, 1, 2])):
        n_kills += kill(start(folder, *COMMAND), random_.uniform(0, run_s))
        for name, data in read_tree(folder).items():
            if name in BEFORE and data not in (BEFORE[name], AFTER[name]):
                yield f"{name} is half-written: {data!r}"
    if code := wait_for_exit(start(folder, *COMMAND)):
        yield f"the resumed run exits with {code}"
    if read_tree(folder) != AFTER:
        yield f"the tree is not that of an uninterrupted run: {read_tree(folder)}"
    replies = Counter((folder / "replies").read_text().split())
    if set(replies.values()) - {1} and sum(replies.values()) - len(replies) > n_kills:
        yield f"{n_kills} kills, but replies were asked for again: {replies}"
    (journal,) = (p for p in folder.rglob("*.jsonl") if p.stat().st_size)
    closed = Counter(re.findall(r'"closed", "path": "(.*?)"', journal.read_text()))
    if closed != Counter(BEFORE.keys()):
        yield f"files were done more or less than once: {closed}"
    if random_.random() < 0.3:
        yield from find_undo_problems(folder, journal.stem, random_.uniform(0, run_s / 3))


def find_undo_problems(folder: Path, run: str, after_s: float) -> Iterator[str]:
    undo = ("codemod", "undo", run)
    kill(start(folder, *undo), after_s)
    if code := wait_for_exit(start(folder, *undo)):
        yield f"undo exits with {code}"
    if read_tree(folder) != BEFORE:
        yield f"undo did not put everything back: {read_tree(folder)}"


def main(folder: Path, n_moments: int) -> int:
    began = time.monotonic()
    assert wait_for_exit(start(make_tree(folder), *COMMAND)) == 0
    assert read_tree(folder) == AFTER
    run_s = time.monotonic() - began
    n_wrong = 0
    for seed in range(n_moments):
        for problem in find_problems(make_tree(folder), random.Random(seed), run_s):
            n_wrong += 1
            print(f"moment {seed}: {problem}")
            print((folder / "output").read_text())
    print(f"{n_moments} moments, {n_wrong} problems")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
