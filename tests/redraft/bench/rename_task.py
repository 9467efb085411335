"""A short edit that benchmarks are tried on with a real model."""

from redraft.bench.tasks import Task

TASK = Task(
    id="letters",
    lang="python",
    path="a.py",
    instruction="Rename `letters` to `chars`.",
    before='def letters(word):\n    return [letter for letter in word if letter != " "]\n',
    max_tokens=40,
)
