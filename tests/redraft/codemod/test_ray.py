"""The same bytes from a real Ray cluster of two nodes on this machine, whatever happens to it."""

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.redraft.codemod import ray_model
from tests.redraft.codemod.conftest import contents

from redraft.cli import codemod, options
from redraft.codemod.ray import count_workers

# Read when ray is imported: it then listens on the loopback address only.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
ray = pytest.importorskip("ray", reason="ray is an optional extra")

ROOT = Path(__file__).parents[3]
N_FILES = 20


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The environment that workers inherit: a log of their replies, and all a test can import."""
    path = tmp_path_factory.mktemp("log") / "replies"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ray_model.LOG, str(path))
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, sys.path)]))
        yield path


@pytest.fixture(scope="module")
def cluster(environment: Path):
    from ray.cluster_utils import Cluster

    made = Cluster()
    for n in range(2):
        made.add_node(
            num_cpus=1,
            node_name=f"node{n}",
            node_ip_address="127.0.0.1",
            include_dashboard=False,
        )
    made.wait_for_nodes()
    yield made
    made.shutdown()


@pytest.fixture
def log(environment: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(ray_model.LOG, str(environment))  # for a cluster that the test itself starts
    environment.write_text("")
    return environment


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for n in range(N_FILES):
        text = f"def old_a{n}():\n    return 1\n\n\ndef old_b{n}():\n    return 2\n"
        (tmp_path / f"f{n:02}.py").write_text(text)
    return tmp_path


@pytest.fixture
def distributed(run_cli, tree: Path, log: Path, monkeypatch: pytest.MonkeyPatch):
    """Run a codemod that writes on the cluster at `address`, and `meddle` meanwhile."""

    def run(address: str, *args: str, meddle: Callable[[], None] = lambda: None):
        monkeypatch.setattr(options, "open_model", ray_model.open_model)
        monkeypatch.setattr(codemod, "model_sha256", ray_model.identify)
        monkeypatch.setattr(codemod, "model_size", lambda _: 1)
        monkeypatch.setattr(codemod, "_WORKER_OVERHEAD", 1)
        thread = threading.Thread(target=meddle, daemon=True)
        thread.start()
        ran = run_cli(
            "codemod", "rename old", ".", "--write", "--jobs", "2", "--ray", address, *args
        )
        thread.join()
        return ran

    return run


def read_log(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()]


def wait_until_both_work(log: Path) -> list[int]:
    while len(pids := {int(pid) for pid, _ in read_log(log)}) < 2:
        threading.Event().wait(0.01)
    return sorted(pids)


def assert_renamed(tree: Path) -> None:
    assert len(contents(tree)) == N_FILES
    assert not re.search("old", "".join(path.read_text() for path in tree.iterdir()))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        pytest.param("127.0.0.1:1", "no cluster answers: ", id="nobody listens"),
        pytest.param("nowhere", "it takes auto, local or HOST:PORT", id="no address"),
        pytest.param("auto", "no cluster answers: ", id="none is running"),
    ],
)
def test_where_no_cluster_answers_nothing_is_done(distributed, tree: Path, address, message):
    before = contents(tree)
    ran = distributed(address)
    assert ran.code == 2
    assert f"redraft: error: --ray {address}: " in ran.err
    assert message in ran.err
    assert ran.err.count("error") == 1
    assert contents(tree) == before


def test_a_worker_may_be_killed_in_the_middle(cluster, distributed, tree: Path, log: Path):
    killed: list[int] = []

    def kill_a_worker() -> None:
        killed.append(wait_until_both_work(log)[0])
        os.kill(killed[0], signal.SIGKILL)

    ran = distributed(cluster.address, meddle=kill_a_worker)
    assert ran.code == 0, ran.err
    assert_renamed(tree)
    counts = {name: sum(other == name for _, other in read_log(log)) for _, name in read_log(log)}
    assert len(counts) == 2 * N_FILES
    assert sum(counts.values()) <= 2 * N_FILES + 4, "only what the worker had in hand was redone"
    assert len({pid for pid, _ in read_log(log)}) == 3, "the lost worker was started again"
    assert killed


def test_a_node_with_another_model_is_refused(
    cluster, distributed, tree: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ray_model, "identify", ray_model.identify_by_process)
    before = contents(tree)
    ran = distributed(cluster.address)
    assert ran.code == 2
    assert re.search(r"the model on \S+ is another file than here", ran.err)
    assert contents(tree) == before


def test_a_cluster_can_be_started_for_the_run_with_a_worker_for_every_so_many_cpus(
    distributed, tree: Path, log: Path
):
    assert distributed("local", "--threads", "1").code == 0
    assert_renamed(tree)
    assert len({pid for pid, _ in read_log(log)}) > 1 or os.cpu_count() == 1


@pytest.mark.parametrize(
    ("has", "n_cpus", "n_workers"),
    [
        pytest.param({"CPU": 16.0, "memory": 64e9}, None, 1, id="one, where nobody says how many"),
        pytest.param({"CPU": 16.0, "memory": 64e9}, 4, 4, id="one for so many CPUs"),
        pytest.param({"CPU": 16.0, "memory": 10e9}, 4, 2, id="as memory allows"),
        pytest.param({"CPU": 2.0, "memory": 1e9}, 4, 1, id="one in any case"),
        pytest.param({"CPU": 2.0}, 1, 1, id="one, where memory is not known"),
    ],
)
def test_a_node_gets_as_many_workers_as_fit(has, n_cpus, n_workers):
    assert count_workers({"Resources": has}, n_cpus, 5_000_000_000) == n_workers
