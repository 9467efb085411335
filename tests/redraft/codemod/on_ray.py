"""What the workers of a test's Ray cluster run: a model that edits by rule, and says where."""

import contextlib
import os
import time

from tests.redraft.codemod.editing import Together

LOG = "REDRAFT_TEST_LOG"


class Slow(Together):
    """Appends its process id and the function it is asked about to a log, then takes its time."""

    def before_reply(self, prompt):
        name = prompt.source.split("(")[0].split()[-1]
        with open(os.environ[LOG], "a") as file:  # noqa: PTH123 - one write, appended as a whole
            file.write(f"{os.getpid()} {name}\n")
        time.sleep(0.05)


def open_model(_):
    return contextlib.nullcontext(Slow())


def identify(_):
    return "0" * 64


def identify_by_process(_):
    return str(os.getpid())
