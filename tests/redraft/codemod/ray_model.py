"""The model in the workers of a test's Ray cluster: it edits by rule, and logs where."""

import contextlib
import os
import time

from tests.redraft.codemod.rule_model import BatchRuleModel

LOG = "REDRAFT_TEST_LOG"


class Slow(BatchRuleModel):
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
