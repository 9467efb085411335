"""Exactness over quantisations: each is made, measured from nothing and compared."""

from pathlib import Path

from redraft_bench import quantizations


def test_each_kind_is_compared_with_a_draft_model_of_its_own(small_model_path: Path):
    found = {
        of_kind.kind: of_kind
        for of_kind in quantizations.compare(
            small_model_path,
            ("Q4_0", "Q4_K_M"),
            ("plain", "copy", "draft"),
            n_tokens=100,
            n_together=(),
            max_answer=50,
        )
    }
    assert list(found) == ["Q4_0", "Q4_K_M"]
    for of_kind in found.values():
        assert {name.partition(",")[0] for name in of_kind.tallies} == {"copy", "draft"}
        assert not any(tally.differences for tally in of_kind.tallies.values())
        assert sum(tally.tokens for tally in of_kind.tallies.values()) >= 200
