"""`redraft` with a model that edits by rule: python -m tests.redraft.codemod.scripted_cli ARGS.

REDRAFT_TEST_LOG names a file that gets a line for each reply, before it is written;
REDRAFT_TEST_DELAY is how many seconds a reply takes.
"""

import contextlib
import os
import sys
import time

from tests.redraft.codemod.rule_model import RuleModel

from redraft.cli import codemod, main, options


class Logging(RuleModel):
    def before_reply(self, prompt):
        if log := os.environ.get("REDRAFT_TEST_LOG"):
            with open(log, "a") as file:  # noqa: PTH123 - one write, appended as a whole
                file.write(prompt.source.split("(")[0].split()[-1] + "\n")
        time.sleep(float(os.environ.get("REDRAFT_TEST_DELAY", "0")))


def run(*args: str) -> int:
    options.open_model = lambda _: contextlib.nullcontext(Logging())
    codemod.model_sha256 = lambda _: "0" * 64
    return main(args)


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
