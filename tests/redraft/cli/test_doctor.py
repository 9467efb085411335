import json
import platform
import re
import signal
import sys
from pathlib import Path

import pytest

from redraft import syntax
from redraft.cli import doctor
from redraft.cli.doctor import Finding, probe

LIBRARY = '{"backend": "metal", "versions": {"llama-cpp-python": "0.3.36"}}'
DECODE = (
    '{"load_s": 1, "prompt_tokens": 9, "prefill_s": 0.5, "output_tokens": 4, "tokens_per_s": 8.0}'
)


def child(code: str) -> list[str]:
    """A stand-in for the probe: it prints what the real one prints, or dies as that might."""
    return [sys.executable, "-c", f"import os, signal, sys, time\n{code}"]


def dies(number: signal.Signals) -> list[str]:
    return child(f"print({LIBRARY!r}, flush=True)\nos.kill(os.getpid(), signal.{number.name})")


def last(command: list[str], timeout_s: float = 60) -> Finding:
    return list(probe(command, timeout_s))[-1]


def test_a_decode_that_works_is_reported_with_its_speed_and_its_backend() -> None:
    library, decode = probe(child(f"print({LIBRARY!r})\nprint({DECODE!r})"), 60)
    assert (library.state, decode.state) == ("ok", "ok")
    assert library.detail == "llama-cpp-python 0.3.36; backend metal"
    assert decode.detail == "9 prompt tokens in 0.5 s, then 4 tokens at 8.0 tokens/s"


def test_an_illegal_instruction_is_named_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    finding = last(dies(signal.SIGILL))
    assert finding.state == "failed"
    assert "SIGILL (Illegal instruction)" in finding.detail
    for part in (
        'CFLAGS="-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"',
        'CXXFLAGS="-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"',
        'CMAKE_ARGS="-DLLAVA_BUILD=OFF"',
        "--force-reinstall",
        "--no-binary llama-cpp-python",
        "--no-cache-dir",
    ):
        assert part in finding.cure


@pytest.mark.parametrize(
    ("number", "detail", "cure"),
    [
        (signal.SIGSEGV, "died of SIGSEGV", "pip install --force-reinstall"),
        (signal.SIGABRT, "died of SIGABRT", "pip install --force-reinstall"),
        (signal.SIGKILL, "out of memory", "smaller model"),
    ],
)
def test_other_deaths_are_named_too(number: signal.Signals, detail: str, cure: str) -> None:
    finding = last(dies(number))
    assert finding.state == "failed"
    assert detail in finding.detail
    assert cure in finding.cure


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        pytest.param("sys.exit('no module named llama_cpp')", "no module named llama_cpp"),
        pytest.param("sys.exit(3)", "exit code 3", id="silence"),
        pytest.param("time.sleep(60)", "no answer within 1 s", id="a hang"),
        pytest.param(
            """print('{"error": "cannot load x.gguf"}'); sys.exit(2)""", "cannot load x.gguf"
        ),
        pytest.param("print('{noise}')\nsys.exit(1)", "exit code 1", id="noise on stdout"),
    ],
)
def test_a_failure_of_the_probe_is_reported(code: str, detail: str) -> None:
    finding = last(child(code), timeout_s=1 if "sleep" in code else 60)
    assert finding.state == "failed"
    assert detail in finding.detail


def test_a_crash_makes_the_doctor_fail_and_not_fall(
    run_cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "PROBE", dies(signal.SIGILL))
    ran = run_cli("doctor")
    assert ran.code == 2
    assert ran.err == ""
    assert "!!  decode    the decode died of SIGILL" in ran.out


@pytest.fixture
def no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has fetched nothing, with a probe that is quick."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "REDRAFT_MODELS_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("HF_HOME", "HF_HUB_CACHE", "OLLAMA_MODELS", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(doctor, "PROBE", child(f"print({LIBRARY!r})"))
    return tmp_path


def test_a_missing_model_breaks_nothing_and_says_how_to_get_it(no_models: Path, run_cli) -> None:
    ran = run_cli("doctor")
    assert ran.code == 0
    assert "--  model     the model qwen2.5-coder-1.5b is not on this machine" in ran.out
    assert "redraft models fetch" in ran.out


@pytest.mark.parametrize(
    ("model", "message"),
    [("gpt-99", "unknown model"), ("missing.gguf", "missing.gguf"), ("text.gguf", "text.gguf")],
)
def test_a_wrong_model_is_a_failure(
    no_models: Path, monkeypatch: pytest.MonkeyPatch, run_cli, model: str, message: str
) -> None:
    monkeypatch.chdir(no_models)
    (no_models / "text.gguf").write_text("hello")
    report = json.loads(run_cli("doctor", "--json", "--model", model).out)
    finding = next(finding for finding in report["findings"] if finding["name"] == "model")
    assert (report["ok"], finding["state"]) == (False, "failed")
    assert message in finding["detail"]


def test_wrong_settings_are_found(no_models: Path, monkeypatch, run_cli) -> None:
    monkeypatch.chdir(no_models)
    (no_models / "redraft.toml").write_text("threads = 'many'")
    ran = run_cli("doctor")
    assert ran.code == 2
    assert "!!  settings" in ran.out
    assert "threads must be a whole number" in ran.out


def test_a_grammar_that_does_not_load_is_named(no_models: Path, monkeypatch, run_cli) -> None:
    def parse_errors(text: str, language: str) -> int:
        if language == "go":
            raise ImportError("no tree_sitter_go")
        return 0

    monkeypatch.setattr(syntax, "parse_errors", parse_errors)
    ran = run_cli("doctor")
    assert ran.code == 2
    assert "cannot load go (no tree_sitter_go)" in ran.out


def test_json_has_every_finding(no_models: Path, run_cli) -> None:
    report = json.loads(run_cli("doctor", "--json").out)
    assert [finding["name"] for finding in report["findings"]] == [
        *("redraft", "platform", "memory", "grammars", "folders", "model", "engine"),
    ]
    assert report["ok"] is True
    assert sorted(report["findings"][0]) == ["cure", "detail", "name", "state"]


def test_the_real_probe_decodes_with_the_real_library(small_model_path: Path) -> None:
    library, decode = probe([*doctor.PROBE, str(small_model_path)], 120)
    assert (library.state, decode.state) == ("ok", "ok")
    assert "llama-cpp-python" in library.detail


def test_the_real_probe_names_a_truncated_model(small_model_path: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with small_model_path.open("rb") as whole:
        cut.write_bytes(whole.read(5_000_000))
    finding = last([*doctor.PROBE, str(cut)], 120)
    assert finding.state == "failed"
    assert "cut.gguf" in finding.detail


@pytest.mark.parametrize(
    ("cpuinfo", "description"),
    [
        pytest.param(
            "model name\t: Some CPU\nflags\t\t: fpu avx2 amx_tile\n\nmodel name\t: Other\n",
            "Some CPU (avx2 amx_tile)",
            id="x86",
        ),
        pytest.param("Features\t: fp asimd asimddp\n", "(asimd asimddp)", id="ARM has no name"),
        pytest.param("", platform.machine(), id="nothing known"),
    ],
)
def test_the_processor_is_described(monkeypatch, cpuinfo: str, description: str) -> None:
    monkeypatch.setattr(doctor, "_read_cpuinfo", lambda: cpuinfo)
    monkeypatch.setattr(sys, "platform", "linux")
    assert description in doctor.describe_cpu()


def test_a_report_can_be_pasted_into_a_bug_report(
    no_models: Path, monkeypatch: pytest.MonkeyPatch, run_cli
) -> None:
    facts = json.loads(DECODE) | {"pass_s": {"1": 0.05, "8": 0.125}}
    probe_ = child(f"print({LIBRARY!r})\nif '--costs' in sys.argv: print({json.dumps(facts)!r})")
    monkeypatch.setattr(doctor, "PROBE", probe_)
    monkeypatch.chdir(no_models)
    (no_models / "redraft.toml").write_text("timeout = 90\n")
    ran = run_cli("doctor", "--report")
    lines = ran.out.rstrip("\n").split("\n")
    assert (lines[0], lines[-1]) == ("```text", "```")
    assert "ok  settings  timeout 90.0" in lines
    assert "ok  costs     of a pass, by its tokens: 1 50.0 ms, 8 125.0 ms" in lines
    assert str(no_models) not in ran.out
    assert "models ~" in ran.out


def test_a_real_report_has_the_costs_of_a_pass(small_model_path: Path, run_cli) -> None:
    ran = run_cli("doctor", "--report", "--model", small_model_path)
    costs = next(line for line in ran.out.split("\n") if line.startswith("ok  costs"))
    assert re.search(r": 1 \d+\.\d ms, .*8 \d+\.\d ms", costs)
