"""Saved cells in memory and on disk: reused only by those who would make the same, and bounded."""

import contextlib
import itertools
import os
import resource
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.redraft.engine.helpers import decode, make_prompt

from redraft.engine import Engine
from redraft.engine.state_cache import MIN_TOKENS, DiskCache, SavedState, StateCache, count_reusable


def make_state(*tokens: int, n_bytes: int = 10, chunk: int = 2) -> SavedState:
    ends = (*range(chunk, len(tokens), chunk), len(tokens))
    return SavedState(tokens=tokens, ends=ends, cells=bytearray(n_bytes))


@pytest.mark.parametrize(
    ("wanted", "ends", "cached", "cached_ends", "expected"),
    [
        pytest.param([], [], [], [], 0, id="nothing at all"),
        pytest.param([1, 2], [2], [], [], 0, id="nothing there"),
        pytest.param([1, 2, 3], [2, 3], [1, 2, 3], [2, 3], 3, id="all of it"),
        pytest.param([1, 2, 3, 4], [2, 4], [1, 2, 3], [2, 3], 2, id="up to the last common border"),
        pytest.param(
            [1, 2, 9, 4], [2, 4], [1, 2, 3, 4], [2, 4], 2, id="the border before a change"
        ),
        pytest.param([1, 9], [2], [1, 2], [2], 0, id="a change in the first pass"),
        pytest.param(
            [1, 2, 3, 4], [3, 4], [1, 2, 3, 4], [2, 4], 0, id="passes cut elsewhere round otherwise"
        ),
        pytest.param([1, 2, 3], [2, 3], [1, 2, 3], [2], 2, id="decoded tokens have no border"),
        pytest.param([1, 2], [2], [1, 2, 3, 4], [2, 4], 2, id="a shorter text"),
    ],
)
def test_count_reusable(wanted, ends, cached, cached_ends, expected: int):
    assert count_reusable(wanted, ends, cached, cached_ends) == expected


def test_the_best_state_is_removed():
    cache = StateCache(100)
    cache.put(make_state(1, 2, 3, 4))
    cache.put(make_state(1, 2, 9, 9))
    best = cache.pop_best([1, 2, 3, 4, 5], [2, 4, 5], above=0)
    assert best
    assert best.tokens == (1, 2, 3, 4)
    assert cache.size == 10


@pytest.mark.parametrize(
    ("wanted", "above"),
    [
        pytest.param([7, 7], 0, id="none begins like the text"),
        pytest.param([1, 2, 3, 4], 4, id="what is at hand is as good"),
    ],
)
def test_a_state_that_is_no_better_stays(wanted: list[int], above: int):
    cache = StateCache(100)
    cache.put(make_state(1, 2, 3, 4))
    assert cache.pop_best(wanted, [2, 4], above=above) is None
    assert cache.size == 10


def test_the_least_recently_put_goes_first():
    cache = StateCache(30)
    for first in (1, 2, 3, 1, 4):
        cache.put(make_state(first, first))
    assert cache.size == 30
    kept = [n for n in (1, 2, 3, 4) if cache.pop_best([n, n], [2], above=0)]
    assert kept == [1, 3, 4]


def test_a_state_beyond_the_budget_does_not_push_out_others():
    cache = StateCache(30)
    cache.put(make_state(1, 1))
    cache.put(make_state(2, 2, n_bytes=31))
    assert cache.size == 10
    assert cache.pop_best([1, 1], [2], above=0)


TOKENS, ENDS, ROW_COUNTS = tuple(range(100)), (64, 100), (8, 32)
CELLS = bytes(range(256)) * 8
SIZE = len(CELLS) + 32

LARGE = "".join(f"def f{i}(x):\n    return x + {i}\n\n" for i in range(120))
OTHER = "".join(f"int g{i}(int x) {{ return x - {i}; }}\n" for i in range(9))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF and more")
    os.utime(path, ns=(1, 1))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "states"


def open_disk_cache(
    folder: Path, model: Path, *, n_threads: int = 2, n_states: int = 9
) -> DiskCache:
    return DiskCache(
        folder, model, n_threads=n_threads, budget=n_states * SIZE + SIZE // 2, min_tokens=100
    )


class TestDiskCache:
    def test_the_next_process_finds_what_was_put(self, folder: Path, model: Path):
        assert open_disk_cache(folder, model).get(TOKENS, ENDS, ROW_COUNTS) is None
        open_disk_cache(folder, model).put(TOKENS, ENDS, ROW_COUNTS, CELLS)
        assert (
            open_disk_cache(folder, model).get(list(TOKENS), list(ENDS), list(ROW_COUNTS)) == CELLS
        )

    @pytest.mark.parametrize(
        "arguments",
        [
            pytest.param(((*TOKENS[:-1], 7), ENDS, ROW_COUNTS), id="other tokens"),
            pytest.param((TOKENS[:-1], ENDS, ROW_COUNTS), id="fewer tokens"),
            pytest.param((TOKENS, (50, 100), ROW_COUNTS), id="passes cut elsewhere"),
            pytest.param((TOKENS, ENDS, ()), id="passes padded otherwise"),
        ],
    )
    def test_whoever_would_make_other_bits_does_not_find_it(self, arguments, folder, model):
        open_disk_cache(folder, model).put(TOKENS, ENDS, ROW_COUNTS, CELLS)
        assert open_disk_cache(folder, model).get(*arguments) is None

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param(lambda model: model.write_bytes(b"GGUF"), id="of another size"),
            pytest.param(lambda model: os.utime(model, ns=(2, 2)), id="written later"),
            pytest.param(lambda model: model.rename(model.with_name("b.gguf")), id="named else"),
        ],
    )
    def test_nor_does_another_model(self, change, folder: Path, model: Path):
        open_disk_cache(folder, model).put(TOKENS, ENDS, ROW_COUNTS, CELLS)
        change(model)
        [model] = model.parent.glob("*.gguf")
        assert open_disk_cache(folder, model).get(TOKENS, ENDS, ROW_COUNTS) is None

    def test_nor_does_another_number_of_threads(self, folder: Path, model: Path):
        open_disk_cache(folder, model).put(TOKENS, ENDS, ROW_COUNTS, CELLS)
        assert open_disk_cache(folder, model, n_threads=3).get(TOKENS, ENDS, ROW_COUNTS) is None

    def test_a_small_text_and_one_beyond_the_budget_are_not_kept(self, folder, model):
        open_disk_cache(folder, model).put(TOKENS[:99], ENDS, ROW_COUNTS, CELLS)
        open_disk_cache(folder, model, n_states=0).put(TOKENS, ENDS, ROW_COUNTS, CELLS)
        assert not folder.exists()

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda data: b"", id="empty"),
            pytest.param(lambda data: data[:20], id="cut in the checksum"),
            pytest.param(lambda data: data[:-1], id="cut at the end"),
            pytest.param(lambda data: data + b"\0", id="too long"),
            pytest.param(lambda data: data[:500] + b"\xff" + data[501:], id="a wrong byte"),
        ],
    )
    def test_a_damaged_file_is_ignored_and_removed(self, damage, folder: Path, model: Path):
        open_disk_cache(folder, model).put(TOKENS, ENDS, ROW_COUNTS, CELLS)
        [path] = folder.iterdir()
        path.write_bytes(damage(path.read_bytes()))
        assert open_disk_cache(folder, model).get(TOKENS, ENDS, ROW_COUNTS) is None
        assert not path.exists()

    def test_nobody_else_may_read_it(self, folder: Path, model: Path):
        open_disk_cache(folder, model).put(TOKENS, ENDS, ROW_COUNTS, CELLS)
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())]
        assert modes == [0o700, 0o600]


class TestBudget:
    """Files are aged after each call, so what is used next is younger than all others."""

    def age(self, folder: Path) -> None:
        for path in folder.iterdir():
            before = path.stat().st_mtime_ns - 10**9
            os.utime(path, ns=(before, before))

    def list_kept(self, disk: DiskCache) -> list[int]:
        return [n for n in range(9) if disk.get((n, *TOKENS), ENDS, ()) is not None]

    def put(self, disk: DiskCache, folder: Path, *numbers: int) -> None:
        for n in numbers:
            disk.put((n, *TOKENS), ENDS, (), CELLS)
            self.age(folder)

    def test_the_least_recently_put_goes_first(self, folder: Path, model: Path):
        disk = open_disk_cache(folder, model, n_states=3)
        self.put(disk, folder, 0, 1, 2, 3, 4)
        assert self.list_kept(disk) == [2, 3, 4]

    def test_using_it_keeps_it(self, folder: Path, model: Path):
        disk = open_disk_cache(folder, model, n_states=3)
        self.put(disk, folder, 0, 1, 2, 0)
        disk.get((1, *TOKENS), ENDS, ())
        self.age(folder)
        self.put(disk, folder, 3)
        assert self.list_kept(disk) == [0, 1, 3]

    def test_all_models_and_leftovers_of_a_killed_process_count(self, folder: Path, model: Path):
        disk = open_disk_cache(folder, model, n_states=3)
        self.put(open_disk_cache(folder, model, n_threads=5), folder, 0)
        (folder / "tmp1234.cells").write_bytes(CELLS)
        (folder / "notes.txt").write_text("not ours")
        self.age(folder)
        self.put(disk, folder, 1, 2, 3)
        assert self.list_kept(disk) == [1, 2, 3]
        assert len(list(folder.iterdir())) == 4


@contextlib.contextmanager
def limit_file_size(n_bytes: int) -> Iterator[None]:
    """Make writing more into one file fail, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


class TestTrouble:
    def test_a_folder_that_cannot_be_made_costs_only_time(self, folder: Path, model: Path):
        folder.parent.write_text("a file where a folder should be")
        disk = open_disk_cache(folder, model)
        disk.put(TOKENS, ENDS, ROW_COUNTS, CELLS)
        assert disk.get(TOKENS, ENDS, ROW_COUNTS) is None

    def test_a_full_disk_leaves_no_half_file(self, folder: Path, model: Path):
        disk = open_disk_cache(folder, model)
        with limit_file_size(len(CELLS) // 2):
            disk.put(TOKENS, ENDS, ROW_COUNTS, CELLS)
        assert list(folder.iterdir()) == []
        disk.put(TOKENS, ENDS, ROW_COUNTS, CELLS)
        assert disk.get(TOKENS, ENDS, ROW_COUNTS) == CELLS


@pytest.fixture
def reopen(open_engine, tiny_path: Path, folder: Path) -> Callable[[], Engine]:
    return lambda: open_engine(tiny_path, state_folder=folder)


class TestEngine:
    PROMPT = make_prompt(LARGE, "Now: ", source=LARGE)

    def expect_same_text(self, engine: Engine, cold: Engine, *, n_reused: int, **options) -> None:
        completion, expected = (decode(e, self.PROMPT, **options) for e in (engine, cold))
        assert completion.text == expected.text
        assert (completion.stats.reused_tokens, expected.stats.reused_tokens) == (n_reused, 0)

    @pytest.mark.parametrize("exactness", ["fast", "invariant"])
    def test_the_next_engine_reuses_the_file_and_writes_the_same(self, exactness, reopen, tiny):
        engine = reopen()
        decode(engine, make_prompt(LARGE, "First: "), exactness=exactness)
        engine.close()
        n_file = tiny.count_tokens(LARGE)
        self.expect_same_text(reopen(), tiny, n_reused=n_file, exactness=exactness)

    def test_so_it_does_if_the_file_was_only_prefilled(self, reopen, tiny: Engine):
        engine = reopen()
        engine.prefill(self.PROMPT.file, exactness="invariant")
        engine.close()
        n_file = tiny.count_tokens(LARGE)
        self.expect_same_text(reopen(), tiny, n_reused=n_file, exactness="invariant")

    def test_a_stashed_file_is_on_disk_too(self, reopen, tiny: Engine):
        engine = reopen()
        decode(engine, make_prompt(LARGE, "First: "))
        engine._pool.cache._state_cache = StateCache(0)
        decode(engine, make_prompt(OTHER))
        self.expect_same_text(engine, tiny, n_reused=tiny.count_tokens(LARGE))

    def test_passes_padded_otherwise_are_not_reused(self, reopen, tiny: Engine):
        engine = reopen()
        decode(engine, make_prompt(LARGE, "First: "), exactness="fast")
        engine.close()
        self.expect_same_text(reopen(), tiny, n_reused=0, exactness="invariant")

    def test_a_partly_prefilled_file_is_not_kept(self, reopen, folder: Path):
        engine, passes = reopen(), itertools.count()
        engine.prefill(self.PROMPT.file, cancelled=lambda: next(passes) == 17)
        assert MIN_TOKENS < len(engine._pool.cache.tokens) < engine.count_tokens(LARGE)
        engine.close()
        assert not folder.exists()

    def test_a_damaged_file_is_replaced(self, reopen, tiny: Engine, folder: Path, open_engine):
        first, second, third = (reopen() for _ in range(3))
        decode(first, self.PROMPT)
        first.close()
        [path] = folder.iterdir()
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        self.expect_same_text(second, tiny, n_reused=0)
        assert not path.exists()
        second.close()
        assert path.read_bytes() == whole
        assert decode(third, self.PROMPT).stats.reused_tokens == tiny.count_tokens(LARGE)

    def test_cells_that_llama_refuses_cost_only_time(self, reopen, tiny: Engine, monkeypatch):
        monkeypatch.setattr(DiskCache, "get", lambda *_: bytearray(b"no cells"))
        self.expect_same_text(reopen(), tiny, n_reused=0)

    def test_a_folder_that_cannot_be_made_costs_only_time(self, reopen, tiny, folder: Path):
        folder.parent.write_text("a file where a folder should be")
        engine = reopen()
        self.expect_same_text(engine, tiny, n_reused=0)
        engine.close()
