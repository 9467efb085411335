"""Peers that are scripts and hand-made replies; and one real peer, which the product brings along."""

import json
import sys
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.redraft.bench.rename_task import TASK

from redraft.bench.tasks import Task
from redraft.errors import InputError
from redraft_bench.peers import compare, llama_server, programs
from redraft_bench.peers.llama_server import LlamaServers, PeerSettings, parse_reply
from redraft_bench.peers.process import PeerAnswer, PeerError, PeerRequest, PipedProgram
from redraft_bench.peers.programs import PROGRAMS, Peer, select_peers
from redraft_bench.peers.results import (
    COPY,
    PLAIN,
    PeerFailure,
    PeerRecord,
    PeerResults,
    load,
    summarize,
)

REQUEST = PeerRequest(tokens=(1, 2, 3), max_tokens=8, stop=("\n```",))


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(programs.importlib.util, "find_spec", lambda _: None)


@pytest.fixture
def all_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "redraft/peers/node_modules/node-llama-cpp").mkdir(parents=True)
    monkeypatch.setattr(programs.platformdirs, "user_cache_path", lambda name: tmp_path / name)
    monkeypatch.setattr(programs.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(programs.shutil, "which", lambda name: name)


def test_what_is_not_installed_is_left_out_by_name_with_the_command_that_brings_it(
    nothing_installed,
):
    selection = select_peers("all", has_draft=True)
    assert selection.peers == ()
    assert set(selection.left_out) == set(PROGRAMS)
    assert "pip install 'xllamacpp" in selection.left_out["llama-server"]
    assert "npm install" in selection.left_out["node-llama-cpp"]
    assert "node-llama-cpp@3.21.1" in selection.left_out["node-llama-cpp"]


def test_the_draft_mode_is_left_out_without_a_second_model(all_installed):
    selection = select_peers("all", has_draft=False)
    assert set(selection.left_out) == {"llama-server/draft"}
    assert len(selection.peers) == sum(len(kind.modes) for kind in PROGRAMS.values()) - 1


@pytest.mark.parametrize(
    ("names", "peers"),
    [
        pytest.param(
            "node-llama-cpp", ["node-llama-cpp/plain", "node-llama-cpp/lookup"], id="a program"
        ),
        pytest.param(
            "llama-server/ngram-mod",
            ["llama-server/plain", "llama-server/ngram-mod"],
            id="a mode, with plain beside it",
        ),
        pytest.param(
            "llama-server/plain, llama-server/plain", ["llama-server/plain"], id="each once"
        ),
    ],
)
def test_peers_are_named(all_installed, names, peers):
    assert [peer.name for peer in select_peers(names, has_draft=False).peers] == peers


@pytest.mark.parametrize("names", ["ollama", "llama-server/", "llama-server/fast", "all,all"])
def test_an_unknown_peer_is_refused_with_those_there_are(all_installed, names):
    with pytest.raises(InputError, match=r"no peer .* ngram-mod-tuned"):
        select_peers(names, has_draft=False)


def script(folder: Path, body: str) -> list[str]:
    """A peer that greets, and then does `body` for each `question`."""
    lines = [
        "import json, sys",
        "say = lambda line: print(json.dumps(line), flush=True)",
        "say({'version': 'script 1'})",
        "for line in sys.stdin:",
        "    question = json.loads(line)",
        textwrap.indent(body, "    "),
    ]
    path = folder / "peer.py"
    path.write_text("\n".join(lines))
    return [sys.executable, str(path)]


ECHO = "say({'tokens': question['tokens'], 'seconds': 0.5, 'passes': 1})"


def test_a_piped_peer_answers_and_does_not_time_the_first_token(tmp_path):
    peer = PipedProgram(script(tmp_path, ECHO), tmp_path / "log")
    answer = PeerAnswer(tokens=(1, 2, 3), timed=2, seconds=0.5, passes=1)
    assert [peer.answer(mode, REQUEST) for mode in ("plain", "lookup")] == [answer, answer]
    assert peer.version == "script 1"
    peer.close()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param("sys.exit('no such model')", "no such model", id="exits"),
        pytest.param("import os; os.kill(os.getpid(), 4)", "SIGILL", id="is killed"),
        pytest.param("print('hello', flush=True)", "no answer: 'hello", id="talks of other things"),
        pytest.param("say({'tokens': [1]})", "no answer", id="leaves something out"),
        pytest.param("say({'error': 'too long'})", "too long", id="refuses"),
    ],
)
def test_a_peer_fails_with_the_reason_where_it(tmp_path, body, said):
    peer = PipedProgram(script(tmp_path, body), tmp_path / "log")
    with pytest.raises(PeerError, match=said):
        peer.answer("plain", REQUEST)
    peer._command = script(tmp_path, ECHO)
    assert peer.answer("plain", REQUEST).tokens == REQUEST.tokens, (
        "it starts again when asked again"
    )
    peer.close()


# What llama-server answered to a request of `llama_server._build_body`, shortened to what is read.
RECORDED = {
    "tokens": [750, 2422, 17, 1648],
    "stop_type": "word",
    "timings": {"predicted_n": 5, "predicted_ms": 250.0, "draft_n": 4, "draft_n_accepted": 3},
}


def test_a_reply_of_llama_server_is_read_with_its_own_timings():
    answer = PeerAnswer(tokens=(750, 2422, 17, 1648), timed=4, seconds=0.25, passes=1)
    assert parse_reply(RECORDED) == answer


def test_without_drafts_every_timed_token_is_a_pass():
    timings = {"predicted_n": 5, "predicted_ms": 250.0}
    assert parse_reply({"tokens": [1], "stop_type": "limit", "timings": timings}).passes == 4


def test_the_token_that_ends_a_text_is_no_part_of_it():
    assert parse_reply(RECORDED | {"stop_type": "eos"}).tokens == (750, 2422, 17)


@pytest.mark.parametrize("reply", [{}, {"tokens": [1]}, {"tokens": [1], "timings": {}}])
def test_a_reply_without_timings_is_an_error(reply):
    with pytest.raises(PeerError, match="lacks something"):
        parse_reply(reply)


@pytest.fixture
def posted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, dict]]]:
    """What the modes of llama-server are asked; a test's own server stands for all of them."""
    seen: list[tuple[str, dict]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, body))
            is_bad = body.get("n_predict") == 13
            self.send_response(500 if is_bad else 200)
            self.end_headers()
            self.wfile.write(b"out of memory" if is_bad else json.dumps(RECORDED).encode())

        def log_message(self, *_):
            pass

    http = HTTPServer(("127.0.0.1", 0), Handler)

    class Process:
        def __init__(self, *_):
            self.greeting = {"version": "v", "address": f"http://127.0.0.1:{http.server_port}"}

        def close(self):
            pass

    monkeypatch.setattr(llama_server, "PeerProcess", Process)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield seen
    http.shutdown()
    http.server_close()


def llama_servers(folder: Path) -> LlamaServers:
    return LlamaServers(
        PeerSettings(
            model=Path("m.gguf"), draft=None, n_ctx=64, n_threads=2, gpu=False, folder=folder
        )
    )


def test_one_mode_of_llama_server_prefills_a_prompt_and_the_others_load_its_cells(posted, tmp_path):
    servers = llama_servers(tmp_path)
    servers.answer("ngram-mod", REQUEST)
    servers.answer("plain", REQUEST)
    paths = [path for path, _ in posted]
    save, restore = "/slots/0?action=save", "/slots/0?action=restore"
    assert paths == ["/completion", save, "/completion", restore, "/completion"]
    assert posted[0][1]["n_predict"] == 0
    body = posted[-1][1]
    assert (body["prompt"], body["n_predict"], body["stop"]) == ([1, 2, 3], 8, ["\n```"])
    servers.answer("plain", PeerRequest(tokens=(1, 2), max_tokens=8, stop=()))
    assert posted[5][1]["n_predict"] == 0, "another prompt is prefilled anew"


def test_the_draft_mode_reads_the_prompt_with_both_of_its_models(posted, tmp_path):
    llama_servers(tmp_path).answer("draft", REQUEST)
    assert [path for path, _ in posted] == ["/completion"]


def test_what_llama_server_refuses_is_an_error_with_its_words(posted, tmp_path):
    with pytest.raises(PeerError, match="with 500: out of memory"):
        llama_servers(tmp_path).answer("plain", PeerRequest(tokens=(1,), max_tokens=13, stop=()))


def record(task: str, peer: str, **fields: object) -> PeerRecord:
    usual = {
        "id": task,
        "peer": peer,
        "prompt_tokens": 10,
        "output_tokens": 100,
        "timed_tokens": 100,
        "decode_s": 10.0,
        "passes": 100,
        "first_difference": None,
    }
    return PeerRecord(**usual | fields)


def test_ratios_are_of_the_same_tasks():
    figures = summarize(
        [
            record("a", PLAIN),
            record("b", PLAIN, decode_s=20.0),
            record("a", COPY, decode_s=2.0, passes=10),
            record("b", COPY, decode_s=2.0, passes=10),
            record("a", "x/plain", decode_s=8.0, passes=None),
            record("a", "x/lookup", decode_s=4.0, passes=25, first_difference=7),
        ]
    )
    lookup = figures["x/lookup"]
    assert lookup["tasks"] == 1
    assert lookup["tokens_per_s"] == 25.0
    assert lookup["to_plain"] == pytest.approx(2.5)
    assert lookup["to_own_plain"] == pytest.approx(2.0)
    assert lookup["copy_to_it"] == pytest.approx(2.0)
    assert lookup["tokens_per_pass"] == 4.0
    assert lookup["differences"] == 1
    assert figures["x/plain"]["tokens_per_pass"] is None
    assert figures[COPY]["to_plain"] == pytest.approx(7.5)
    assert figures[COPY]["median_to_plain"] == pytest.approx(7.5)
    assert figures[PLAIN]["to_plain"] == pytest.approx(1.0)


def test_a_peer_whose_tasks_redraft_never_had_has_no_ratio():
    figures = summarize([record("a", "x/lookup")])["x/lookup"]
    assert figures["to_plain"] is figures["to_own_plain"] is figures["copy_to_it"] is None


def test_results_are_read_again_as_they_were_written(tmp_path):
    results = PeerResults(records=[record("a", PLAIN)])
    results.failures.append(PeerFailure(id="b", peer="x/lookup", reason="died"))
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"conditions": {"n": 1}, "scope": "file", **results.as_json()}))
    again = load(path, {"scope": "file"})
    assert (again.records, again.failures) == (results.records, results.failures)
    assert again.earlier == [{"n": 1}]
    assert again.done == {"a", "b"}
    with pytest.raises(InputError, match=r"scope 'file', this run has 'function'"):
        load(path, {"scope": "function"})


@pytest.mark.parametrize("text", ["", "[]", '{"results": []}'])
def test_a_file_of_another_kind_is_not_overwritten(tmp_path, text):
    path = tmp_path / "out.json"
    path.write_text(text)
    with pytest.raises(InputError, match="name another file"):
        load(path, {})


class ScriptedPeer:
    """A peer that writes what it is told to; a mode that it does not know kills it."""

    version = "1"

    def __init__(self, **answers: tuple[int, ...]) -> None:
        self.answers = answers
        self.requests: list[tuple[str, int]] = []

    def answer(self, mode: str, request: PeerRequest) -> PeerAnswer:
        self.requests.append((mode, request.max_tokens))
        if mode not in self.answers:
            raise PeerError("it ended (SIGILL)")
        tokens = self.answers[mode][: request.max_tokens]
        return PeerAnswer(tokens=tokens, timed=len(tokens), seconds=1.0, passes=None)


def test_answers_are_held_against_plain_ones_and_failures_stay(bench_engine):
    task = compare.build_task(bench_engine, TASK, "file")
    plain = bench_engine.decode(task.prompt, "plain", "fast", max_tokens=TASK.max_tokens)
    tokens = tuple(token for pass_ in plain.passes for token in pass_.tokens)
    tokens = tokens[: plain.stats.output_tokens]
    peer = ScriptedPeer(plain=tokens, lookup=(*tokens[:4], -1))
    [records] = compare.measure(
        bench_engine,
        [task],
        [Peer(family="x", mode=mode) for mode in ("plain", "lookup", "mod")],
        {"x": peer},
        exactness="fast",
        plain_tokens=3,
    )
    of = {record.peer: record for record in records}
    assert list(of) == [PLAIN, COPY, "x/plain", "x/lookup", "x/mod"]
    assert of[PLAIN].first_difference is None
    assert of[PLAIN].prompt_tokens == len(task.request.tokens)
    assert of["x/plain"].output_tokens == 3
    assert of["x/plain"].first_difference is None, "it was told to end there"
    assert of["x/lookup"].first_difference == 4
    assert of["x/mod"] == PeerFailure(id="letters", peer="x/mod", reason="it ended (SIGILL)")
    assert peer.requests == [("plain", 3), ("lookup", 40), ("mod", 40)]


def test_the_tokens_of_a_prompt_are_those_that_the_model_reads(bench_engine):
    task = compare.build_task(bench_engine, TASK, "function")
    done = bench_engine.decode(task.prompt, "plain", "fast", max_tokens=1)
    assert done.stats.prompt_tokens == len(task.request.tokens)


def test_a_task_that_does_not_fit_is_not_asked(bench_engine):
    long = Task(**{name: getattr(TASK, name) for name in Task.__dataclass_fields__})
    object.__setattr__(long, "before", "x = 1\n" * 4000)
    refused = compare.build_task(bench_engine, long, "file")
    assert isinstance(refused, PeerFailure)
    assert "do not fit" in refused.reason
    assert compare.needed_context([]) == compare.SPARE


def test_the_command_runs_a_real_peer_and_goes_on_where_it_ended(
    tmp_path, monkeypatch, run_bench, small_model_path
):
    monkeypatch.chdir(tmp_path)
    fields = ("id", "lang", "path", "instruction", "before", "max_tokens")
    # Behind the code the model rambles, each token by a hair: there rounding may part the two.
    changes = [{"id": str(n), "max_tokens": 20} for n in range(2)]
    lines = [{name: getattr(TASK, name) for name in fields} | change for change in changes]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, lines)))
    args = ("peers", "--model", small_model_path, "--peers", "llama-cpp-python")
    args = (*args, "--tasks", "tasks.jsonl", "--json", "o.json", "--limit")
    ran = run_bench(*args, "1")
    assert ran.code == 0, ran.err
    names = [PLAIN, COPY, "llama-cpp-python/plain", "llama-cpp-python/lookup"]
    first = json.loads((tmp_path / "o.json").read_text())
    assert [(record["id"], record["peer"]) for record in first["results"]] == [
        ("0", n) for n in names
    ]
    for record in first["results"][2:]:
        assert record["first_difference"] is None, "the same library, the same tokens"
        assert record["decode_s"] > 0
    assert "llama-cpp-python" in first["versions"]["llama-cpp-python"]
    ran = run_bench(*args, "2")
    assert ran.code == 0, ran.err
    both = json.loads((tmp_path / "o.json").read_text())
    assert both["results"][: len(names)] == first["results"]
    assert {record["id"] for record in both["results"]} == {"0", "1"}
    assert len(both["earlier_runs"]) == 1
    assert "| llama-cpp-python/lookup" in ran.out
    ran = run_bench(*args, "2", "--scope", "function")
    assert ran.code == 2
    assert "name another file" in ran.err
