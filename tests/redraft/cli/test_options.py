"""Model flags as settings and as an opened model."""

import argparse
from pathlib import Path

import pytest

from redraft.cli import options
from redraft.config.settings import Settings
from redraft.engine import Engine


@pytest.mark.parametrize(("given", "meant"), [([], False), (["--save-states"], True)])
def test_a_switch_takes_no_value(given: list[str], meant: bool, tmp_path: Path):
    parser = argparse.ArgumentParser()
    options.add_model_flags(parser)
    args = parser.parse_args([*given, "--seed", "3"])
    assert options.load(args, tmp_path) == Settings(seed=3, save_states=meant)


@pytest.mark.parametrize("is_wanted", [False, True])
def test_states_are_saved_in_the_users_cache_and_only_if_wanted(
    is_wanted: bool,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(options.platformdirs, "user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr(Engine, "open", lambda path, **given: given["state_folder"])
    folder = options.open_model(Settings(model=str(path), save_states=is_wanted))
    assert folder == (tmp_path / "redraft" / "states" if is_wanted else None)
