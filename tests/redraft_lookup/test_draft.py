import pytest

from redraft_lookup.draft import EMPTY, Draft, Observation, PlainDrafter


def test_a_chain_is_a_tree_without_branches():
    assert Draft.chain([5, 6, 7], "copied") == Draft.tree([[5, 6, 7]], "copied")
    assert Draft.chain([5, 6, 7], "copied").is_chain


def test_a_chain_may_say_where_each_token_is_from():
    assert Draft.chain([5, 6], ["copied", "learned"]).origins == ("copied", "learned")


@pytest.mark.parametrize(
    ("branches", "tokens", "parents"),
    [
        pytest.param([], (), (), id="no branch, no node"),
        pytest.param([[]], (), (), id="an empty branch adds nothing"),
        pytest.param([[1, 2], [3]], (1, 2, 3), (-1, 0, -1), id="branches fork at the root"),
        pytest.param([[1, 2], [1, 3]], (1, 2, 3), (-1, 0, 0), id="a common start is shared"),
        pytest.param([[1, 2], [1]], (1, 2), (-1, 0), id="a prefix of a branch is in it"),
        pytest.param([[1], [1, 2]], (1, 2), (-1, 0), id="a longer branch goes on"),
        pytest.param([[1, 1], [1, 1, 1]], (1, 1, 1), (-1, 0, 1), id="equal tokens at other depths"),
        pytest.param([[1, 9], [2, 9]], (1, 9, 2, 9), (-1, 0, -1, 2), id="not what follows alike"),
    ],
)
def test_a_tree_merges_branches(branches: list[list[int]], tokens: tuple, parents: tuple):
    tree = Draft.tree(branches, "guess")
    assert (tree.tokens, tree.parents) == (tokens, parents)
    assert tree.origins == ("guess",) * len(tokens)


def test_edges_lead_from_the_root_down():
    edges = Draft.tree([[1, 2], [1, 3]], "guess").edges()
    assert edges == {(-1, 1): 0, (0, 2): 1, (0, 3): 2}


@pytest.mark.parametrize(
    ("tokens", "parents", "origins"),
    [
        pytest.param((1, 2), (-1,), ("guess", "guess"), id="a token without a parent"),
        pytest.param((1,), (-1,), (), id="a token from nowhere"),
        pytest.param((1,), (0,), ("guess",), id="a node that follows itself"),
        pytest.param((1, 2), (1, -1), ("guess", "guess"), id="a child before its parent"),
        pytest.param((1,), (-2,), ("guess",), id="a parent before the root"),
    ],
)
def test_a_draft_that_is_no_tree_is_refused(tokens: tuple, parents: tuple, origins: tuple):
    with pytest.raises(ValueError, match=r"differ in length|a parent stands before it"):
        Draft(tokens, parents, origins)


FORK = Draft((1, 2, 3, 4), (-1, 0, 0, 2), ("copied", "copied", "learned", "guess"))


@pytest.mark.parametrize(
    ("size", "depth", "forbidden", "tokens", "parents"),
    [
        pytest.param(4, 4, set(), (1, 2, 3, 4), (-1, 0, 0, 2), id="what fits stays"),
        pytest.param(3, 3, set(), (1, 2, 3), (-1, 0, 0), id="the first nodes"),
        pytest.param(0, 3, set(), (), (), id="room for none"),
        pytest.param(4, 0, set(), (), (), id="no depth"),
        pytest.param(4, 2, set(), (1, 2, 3), (-1, 0, 0), id="nodes near the root"),
        pytest.param(4, 4, {3}, (1, 2), (-1, 0), id="nothing behind a forbidden token"),
        pytest.param(4, 4, {2}, (1, 3, 4), (-1, 0, 1), id="another branch moves up"),
        pytest.param(3, 4, {2}, (1, 3, 4), (-1, 0, 1), id="forbidden tokens take no room"),
        pytest.param(4, 4, {1}, (), (), id="nothing when the first is forbidden"),
    ],
)
def test_pruning_keeps_the_first_nodes_that_fit(
    size: int, depth: int, forbidden: set, tokens: tuple, parents: tuple
):
    pruned = FORK.prune(size, depth, frozenset(forbidden))
    assert (pruned.tokens, pruned.parents) == (tokens, parents)
    origin = dict(zip(FORK.tokens, FORK.origins, strict=True))
    assert pruned.origins == tuple(origin[token] for token in tokens)


def test_an_empty_draft_is_false():
    assert not EMPTY
    assert FORK


def test_plain_decoding_never_guesses():
    drafter = PlainDrafter()
    drafter.observe(Observation(tokens=(1,), draft=EMPTY, path=()))
    assert drafter.propose(100) == EMPTY
