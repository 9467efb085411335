import pytest

from redraft import models
from redraft.errors import ModelError


@pytest.mark.usefixtures("small_model_path")
def test_redraft_alone_says_what_to_do_next(run_cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "resolve", lambda name: name)
    ran = run_cli()
    assert ran.code == 0
    commands = [line.split("  ")[1] for line in ran.out.split("\n") if line.startswith("  redraft")]
    assert commands[0] == "redraft demo"
    assert any(command.startswith("redraft edit FILE:LINE") for command in commands)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("", "redraft models fetch qwen2.5-coder-1.5b"),
        ("smollm2-135m", "redraft models fetch smollm2-135m"),
        ("/no/such/file.gguf", "redraft doctor"),
    ],
)
def test_a_model_that_is_missing_comes_first(
    name: str, first: str, run_cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolve(_: str) -> None:
        raise ModelError("it is not here")

    monkeypatch.setattr(models, "resolve", resolve)
    if name:
        monkeypatch.setenv("REDRAFT_MODEL", name)
    ran = run_cli()
    assert ran.code == 0
    assert ran.out.split("\n")[2].startswith(f"  {first} ")


def test_the_overview_names_every_command(run_cli) -> None:
    usage = run_cli("no-such-command").err
    commands = usage.partition("choose from ")[2].rstrip(")\n").replace("'", "").split(", ")
    assert len(commands) > 1
    help_ = run_cli("--help").out
    assert [name for name in commands if f"\n  {name} " not in help_] == []
