from collections.abc import Mapping
from pathlib import Path

import pytest

from redraft.config import settings
from redraft.config.settings import Settings, load
from redraft.errors import InputError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `a/b` to edit in; the user's own settings file would be in `home`."""
    monkeypatch.setattr(settings.platformdirs, "user_config_path", lambda _: tmp_path / "home")
    (tmp_path / "home").mkdir()
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    return folder


def test_with_nothing_set_every_key_has_its_default(project: Path) -> None:
    assert load(project, {}, {}) == Settings()


def test_flags_come_before_variables_before_the_project_before_the_users_own(
    project: Path, tmp_path: Path
) -> None:
    (tmp_path / "home/redraft.toml").write_text("seed = 4\nthreads = 4\nn_ctx = 4\ntimeout = 4")
    (project / "redraft.toml").write_text("seed = 3\nthreads = 3\nn_ctx = 3")
    environ = {"REDRAFT_SEED": "2", "REDRAFT_THREADS": "2"}
    assert load(project, {"seed": "1"}, environ) == Settings(seed=1, threads=2, n_ctx=3, timeout=4)


def test_the_editor_stands_between_flags_and_variables(project: Path) -> None:
    environ = {"REDRAFT_SEED": "3", "REDRAFT_THREADS": "3", "REDRAFT_TOP_K": "3"}
    editor = {"seed": 2, "threads": 2, "top_k": None}
    loaded = load(project, {"seed": 1}, environ, editor=editor)
    assert (loaded.seed, loaded.threads, loaded.top_k) == (1, 2, 3)


def test_the_file_of_a_project_that_is_not_trusted_is_ignored(
    project: Path, tmp_path: Path
) -> None:
    (tmp_path / "home/redraft.toml").write_text("seed = 1")
    (project / "redraft.toml").write_text("seed = 2\nthreads = 2")
    assert load(project, {}, {}, trust_project=False) == Settings(seed=1)


def test_defaults_of_a_command_give_way_to_everything(project: Path) -> None:
    (project / "redraft.toml").write_text("seed = 2")
    loaded = load(project, {}, {}, defaults={"seed": 7, "exactness": "invariant"})
    assert loaded == Settings(seed=2, exactness="invariant")


@pytest.mark.parametrize(
    ("written", "seed"),
    [
        pytest.param({"redraft.toml": "seed = 1"}, 1, id="the folder above counts"),
        pytest.param({"b/redraft.toml": "seed = 2", "redraft.toml": "seed = 1"}, 2, id="nearest"),
        pytest.param({"pyproject.toml": "[tool.redraft]\nseed = 5"}, 5, id="pyproject counts"),
        pytest.param(
            {"b/pyproject.toml": "[project]\nname = 'redraft-user'", "redraft.toml": "seed = 1"},
            1,
            id="a pyproject without our table does not hide the folders above",
        ),
        pytest.param(
            {"b/pyproject.toml": "broken [", "redraft.toml": "seed = 1"},
            1,
            id="a broken pyproject that is not about us is not our business",
        ),
        pytest.param(
            {"b/pyproject.toml": "[tool.redraft]\nseed = 5", "b/redraft.toml": ""},
            0,
            id="redraft.toml, even an empty one, comes before pyproject.toml",
        ),
    ],
)
def test_the_nearest_project_file_counts(
    project: Path, written: Mapping[str, str], seed: int
) -> None:
    for name, text in written.items():
        (project.parent / name).write_text(text)
    assert load(project, {}, {}).seed == seed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("max_tokens = 0", "max_tokens must be a whole number of at least 1, not 0"),
        pytest.param("max_tokens = true", "max_tokens must be a whole number"),
        pytest.param("max_tokens = 1.5", "max_tokens must be a whole number"),
        pytest.param("timeout = 0", "timeout must be a number of seconds above 0, not 0"),
        pytest.param("timeout = inf", "timeout must be a number of seconds above 0"),
        pytest.param("timeout = true", "timeout must be a number of seconds above 0"),
        pytest.param("temperature = -1", "temperature must be a number of at least 0, not -1"),
        pytest.param("temperature = []", "temperature must be a number of at least 0, not []"),
        pytest.param("strategy = 'fast'", "strategy must be one of plain, lookup, copy, jacobi"),
        pytest.param("strategy = []", "strategy must be one of plain, lookup, copy, jacobi"),
        pytest.param("exactness = 'exact'", "exactness must be one of fast, invariant, not"),
        pytest.param("top_k = -1", "top_k must be a whole number of at least 0, not -1"),
        pytest.param("top_p = 0", "top_p must be a number above 0, up to 1, not 0"),
        pytest.param("min_p = 1.5", "min_p must be a number from 0 to 1, not 1.5"),
        pytest.param("draft_model = ''", "draft_model must be a name or a path, not ''"),
        pytest.param("model = ''", "model must be a name or a path, not ''"),
        pytest.param("model = 7", "model must be a name or a path, not 7"),
        pytest.param("save_states = 1", "save_states must be true or false, not 1"),
        pytest.param("save_states = 'yes'", "save_states must be true or false, not 'yes'"),
        pytest.param("max_token = 7", "unknown key 'max_token': did you mean max_tokens?"),
        pytest.param("colour = 7", "unknown key 'colour': the keys are model, draft_model"),
        pytest.param("seed =", "is not valid TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_file_and_key(
    project: Path, text: str, expected: str
) -> None:
    path = project / "redraft.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load(project, {}, {})
    assert str(path) in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[tool]\nredraft = 3", "tool.redraft must be a table, not 3"),
        ("[tool.redraft]\nseed = -3", "seed must be a whole number of at least 0, not -3"),
        ("# redraft\ntool = 3", None),
    ],
)
def test_pyproject_is_read_with_care(project: Path, text: str, expected: str | None) -> None:
    (project / "pyproject.toml").write_text(text)
    if expected is None:
        assert load(project, {}, {}) == Settings()
        return
    with pytest.raises(InputError, match=r"pyproject\.toml") as caught:
        load(project, {}, {})
    assert expected in str(caught.value)


def test_a_wrong_flag_and_a_wrong_variable_are_named_as_they_are_typed(project: Path) -> None:
    with pytest.raises(InputError, match=r"^--max-tokens must be .* not 'many'$"):
        load(project, {"max_tokens": "many"}, {})
    with pytest.raises(InputError, match=r"^REDRAFT_N_CTX must be .* not '-1'$"):
        load(project, {}, {"REDRAFT_N_CTX": "-1"})


def test_a_wrong_setting_of_the_editor_is_named_as_the_editor_does(project: Path) -> None:
    with pytest.raises(InputError, match=r"^redraft\.maxTokens must be .* not 'many'$"):
        load(project, {}, {}, editor={"max_tokens": "many"})


def test_an_empty_variable_counts_as_not_set(project: Path) -> None:
    assert load(project, {}, {"REDRAFT_MODEL": "", "REDRAFT_SEED": ""}) == Settings()


@pytest.mark.parametrize(
    ("word", "expected"), [("1", True), ("True", True), ("0", False), ("false", False)]
)
def test_a_switch_in_a_variable_is_a_word(project: Path, word: str, expected: bool) -> None:
    (project / "redraft.toml").write_text("save_states = true")
    assert load(project, {}, {"REDRAFT_SAVE_STATES": word}).save_states is expected


def test_an_unreadable_settings_file_is_an_error_not_a_default(project: Path) -> None:
    (project / "redraft.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot read the settings in"):
        load(project, {}, {})


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        pytest.param("models/x.gguf", "{project}/models/x.gguf", id="relative to its file"),
        pytest.param("x.gguf", "{project}/x.gguf", id="a bare file name is a path too"),
        pytest.param("/opt/x.gguf", "/opt/x.gguf", id="absolute stays"),
        pytest.param("~/x.gguf", "{home}/x.gguf", id="home is expanded"),
        pytest.param("qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b", id="a name is not a path"),
    ],
)
def test_a_model_path_in_a_file_counts_from_that_file(
    project: Path, model: str, expected: str
) -> None:
    (project / "redraft.toml").write_text(f"model = {model!r}\ndraft_model = {model!r}")
    loaded = load(project, {}, {})
    expected = expected.format(project=project, home=Path.home())
    assert (loaded.model, loaded.draft_model) == (expected, expected)


def test_settings_become_decode_options(project: Path) -> None:
    flags = {"strategy": "lookup", "max_tokens": "7", "timeout": "1.5", "temperature": "0.5"}
    flags |= {"seed": "3", "top_k": "40", "top_p": "0.9", "min_p": "0.05"}
    options = load(project, flags | {"exactness": "invariant"}, {}).decode_options
    assert (options.strategy, options.max_tokens, options.timeout_s) == ("lookup", 7, 1.5)
    assert (options.temperature, options.seed) == (0.5, 3)
    assert (options.top_k, options.top_p, options.min_p) == (40, 0.9, 0.05)
    assert options.exactness == "invariant"
