"""Negatives between the types that a layer links: compared with lists from plain loops."""

from itertools import permutations

import numpy as np
import pytest

from banditplex.evaluation import NegativeSampler, k_fold, split
from banditplex.multiplex import Multiplex
from banditplex.pairs.known import KnownPairs, PairSpace, restrict
from banditplex.pairs.negatives import own_negatives
from tests.pairs.test_negatives import close, counts
from tests.quick import every
from tests.refusals import refuses

TYPES = ["user", "item", "user", "user", "item", "item", "tag", "user"]


def shop(directed=False):
    """Return users 0, 2, 3, 7, items 1, 4, 5 and a tag 6: purchases, notes of both kinds, an empty layer.

    buys: users and items. knows: users. notes: (user, tag), (item, tag) and (item, item). A self loop of the tag counts
    for nothing.
    """
    edges = {
        "buys": [(0, 1), (2, 1), (3, 4), (0, 5)],
        "knows": [(0, 2), (3, 2), (3, 7)],
        "notes": [(0, 6), (1, 6), (1, 4), (6, 6)],
    }
    rows = [(u, v, layer) for layer, pairs in edges.items() for u, v in pairs]
    source, destination, layer = zip(*rows, strict=True)
    return Multiplex.from_edges(
        list(source), list(destination), list(layer), layer_names=["buys", "knows", "notes", "empty"], num_nodes=8,
        node_types=TYPES, directed=directed,
    )  # fmt: skip


def linkable(mx, layer):
    """Return the set of pairs (u, v) that a layer may link, smaller node first if undirected."""
    types = TYPES if mx.node_types is not None else [""] * mx.num_nodes
    edges = [(u, v) for u, v in mx.edges(layer).T.tolist() if u != v]
    links = {(types[u], types[v]) for u, v in edges}
    links |= set() if mx.directed else {(b, a) for a, b in links}
    return {
        (u, v) for u, v in permutations(range(mx.num_nodes), 2)
        if (mx.directed or u < v) and (not links or (types[u], types[v]) in links)
    }  # fmt: skip


def free(mx, layer, *, hide="edge"):
    """Return the negatives of a layer."""
    layers = mx.layer_names if hide == "pair" else [layer]
    known = {tuple(edge) for name in layers for edge in mx.edges(name).T.tolist()}
    known |= set() if hide == "edge" else {(v, u) for u, v in known}
    return linkable(mx, layer) - known


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hide", ["edge", "layer", "pair"])
@pytest.mark.parametrize("typed", [False, True])
def test_the_pairs_of_a_layer(directed, hide, typed):
    mx = shop(directed) if typed else shop(directed).with_node_types(None)
    space = PairSpace(mx)
    everything = np.array(list(permutations(range(8), 2)))
    known = KnownPairs(mx, everywhere=hide == "pair", ordered=directed and hide == "edge")
    known.space = space
    for index, name in enumerate(mx.layer_names[:3]):
        pairs = linkable(mx, name)
        assert len(space.all_pairs(index)) == len(pairs)
        assert {tuple(pair) for pair in space.all_pairs(index).tolist()} == pairs
        assert {tuple(pair) for chunk in space.chunks(index, 3) for pair in chunk.tolist()} == pairs
        inside = space.contains(np.full(len(everything), index), everything)
        assert {tuple(pair if directed else sorted(pair)) for pair in everything[inside].tolist()} == pairs
        allowed = free(mx, name, hide=hide)
        count = len(allowed if known.ordered else {frozenset(pair) for pair in allowed})
        assert known.num_free()[index] == count
        found, keys = known.free_pairs(index)
        assert len(found) == len(keys) == count
        assert {frozenset(pair) for pair in found.tolist()} == {frozenset(pair) for pair in allowed}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hide", ["edge", "layer", "pair"])
def test_training_negatives_are_uniform_over_the_pairs_of_linked_types(directed, hide):
    mx = shop(directed)
    sampler = NegativeSampler(mx, everywhere=hide == "pair", ordered=directed and hide == "edge")
    layer = np.repeat([0, 1, 2], 4000)
    drawn = sampler.draw(layer, np.random.default_rng(0))
    for index, name in enumerate(mx.layer_names[:3]):
        allowed = sorted(free(mx, name, hide=hide))
        assert close(counts(drawn[layer == index], allowed), 1 / len(allowed))


def test_the_negatives_of_a_shop_are_a_user_and_an_item():
    rng = np.random.default_rng(0)
    types = np.array(["user"] * 300 + ["item"] * 40, dtype=object)
    ends = np.stack([rng.integers(0, 300, 2000), rng.integers(300, 340, 2000)])
    mx = Multiplex.from_edges(*ends, "buys", num_nodes=340, node_types=types)
    drawn = NegativeSampler(mx).draw(np.zeros(5000, int), rng)
    data = split(mx, hide="layer", negatives="hard", each=10)
    data.check(full=mx)
    for pairs in (drawn, data.pairs, data.negatives.reshape(-1, 2)):
        assert (types[pairs[:, 0]] == "user").all()
        assert (types[pairs[:, 1]] == "item").all()


@pytest.mark.parametrize("directed", [False, True])
def test_degree_negatives_are_drawn_in_proportion_to_degrees_within_types(directed):
    mx = shop(directed)
    known = restrict(KnownPairs(mx, ordered=False), mx)
    rng = np.random.default_rng(1)
    for index, name in enumerate(["buys", "knows", "notes"]):
        edges = mx.edges(name)[:, mx.edges(name)[0] != mx.edges(name)[1]]
        out, into = (np.bincount(end, minlength=8) for end in edges)
        out, into = (out, into) if directed else (out + into, out + into)
        weights = {pair: out[pair[0]] * into[pair[1]] for pair in sorted(free(mx, name, hide="layer"))}
        allowed = [pair for pair, weight in weights.items() if weight]
        if allowed:
            chance = np.array([weights[pair] for pair in allowed]) / sum(weights.values())
            own = own_negatives(mx, np.full(4000, index), 1, known, rng, kind="degree")
            assert close(counts(own, allowed), chance)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("hide", ["layer", "pair"])
@pytest.mark.parametrize("kind", ["uniform", "degree", "hard"])
def test_test_negatives_link_what_their_layer_links(directed, hide, kind):
    """Every negative that there is, drawn without repetition: the pool and the own negatives of each positive."""
    mx = shop(directed)
    num_free = [len({frozenset(pair) for pair in free(mx, name, hide=hide)}) for name in mx.layer_names[:3]]
    for data in k_fold(mx, hide=hide, folds=3, negatives=kind, each=2):
        data.check(full=mx)
        for index, name in enumerate(mx.layer_names[:3]):
            allowed = free(mx, name, hide=hide)
            assert num_free[index] >= 2
            pairs, label = data.test(name)
            assert {tuple(pair) for pair in pairs[label == 0].tolist()} <= allowed
            assert {tuple(pair) for pair in data.ranking(name)[1].reshape(-1, 2).tolist()} <= allowed


@pytest.mark.parametrize(("directed", "kind"), every(5, [False, True], ["uniform", "degree", "hard"]))
def test_the_last_negatives_between_types_are_found(directed, kind):
    """All but 5 of 400 pairs of a user and an item are linked; users are even, items odd."""
    grid = np.array([(user, item) for user in range(0, 40, 2) for item in range(1, 41, 2)])
    gone = np.zeros(len(grid), bool)
    gone[[3, 77, 200, 333, 390]] = True
    mx = Multiplex.from_edges(
        *grid[~gone].T, "buys", num_nodes=40, node_types=["user", "item"] * 20, directed=directed
    )  # fmt: skip
    expected = {tuple(pair if directed else sorted(pair)) for pair in grid[gone].tolist()}
    data = split(mx, hide="layer", share=5 / 395, negatives=kind, each=5)
    data.check(full=mx)
    pairs, label = data.test("buys")
    assert {tuple(pair) for pair in pairs[label == 0].tolist()} == expected
    assert all({tuple(pair) for pair in row} == expected for row in data.negatives.tolist())
    drawn = NegativeSampler(mx, ordered=False).draw(np.zeros(500, int), np.random.default_rng(0))
    assert {tuple(pair) for pair in drawn.tolist()} == expected
    full = Multiplex.from_edges(*grid.T, "buys", num_nodes=40, node_types=["user", "item"] * 20)
    with refuses("layer 'buys'", "got 0"):
        NegativeSampler(full).draw(np.zeros(1, int), np.random.default_rng(0))


def test_hard_negatives_keep_the_direction_of_types():
    """Layers link a to b and b to c: as a source, a node of type b is paired with c, as a destination with a."""
    types = np.repeat(["a", "b", "c"], 6)
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 6, (80, 2)) + np.repeat([[0, 6], [6, 12]], 40, axis=0)
    mx = Multiplex.from_edges(*ends.T, "links", num_nodes=18, node_types=types, directed=True, duplicates="max")
    data = split(mx, hide="layer", negatives="hard", each=6)
    data.check(full=mx)
    links = {tuple(pair) for pair in types[data.negatives.reshape(-1, 2)].tolist()}
    assert links == {("a", "b"), ("b", "c")}


def test_nothing_is_drawn_differently_without_types():
    mx = shop().with_node_types(None)
    known = KnownPairs(mx, ordered=False)
    assert restrict(known, mx).space is None
    rng, plain = np.random.default_rng(0), np.random.default_rng(0)
    drawn = NegativeSampler(mx).draw(np.zeros(1, int), rng)
    source, destination = plain.integers(0, 8, 1), plain.integers(0, 7, 1)
    destination += destination >= source
    assert sorted(drawn[0].tolist()) == sorted([int(source[0]), int(destination[0])])


def test_one_type_is_as_good_as_none():
    mx = shop().with_node_types(["node"] * 8)
    bare = mx.with_node_types(None)
    assert restrict(KnownPairs(mx), mx).num_free().tolist() == KnownPairs(bare).num_free().tolist()


def test_types_of_another_multiplex():
    """What the layer links in training holds in a context with other nodes, whatever the context shows."""
    mx = Multiplex.from_edges([0, 1], [2, 3], "buys", node_types=["user", "user", "item", "item"])
    other = Multiplex.from_edges(
        ["x"], ["y"], ["buys"], node_names=["x", "y", "z", "w"], node_types=["user", "alien", "item", "user"]
    )  # fmt: skip
    assert PairSpace(other, links_of=mx).all_pairs(0).tolist() == [[0, 2], [2, 3]]


def test_types_that_another_multiplex_does_not_have():
    """Links of aliens say nothing about users and items: all of their pairs are possible."""
    mx = Multiplex.from_edges([0], [1], "buys", node_types=["alien", "item"])
    other = Multiplex.from_edges([0], [1], "buys", num_nodes=3, node_types=["user", "item", "item"])
    assert sorted(PairSpace(other, links_of=mx).all_pairs(0).tolist()) == [[0, 1], [0, 2], [1, 2]]


def test_directed_links_both_ways_count_both_ways():
    """Two users and three items that link each other: 6 pairs from users to items and 6 back, 6 without direction."""
    types = ["user", "user", "item", "item", "item"]
    space = PairSpace(Multiplex.from_edges([0, 3], [2, 1], "a", num_nodes=5, node_types=types, directed=True))
    assert space.num_pairs(ordered=True).tolist() == [12]
    assert space.num_pairs(ordered=False).tolist() == [6]


def test_directed_links_of_another_multiplex_keep_their_direction():
    """Users buy items, and items nothing; the other multiplex knows a type more."""
    mx = Multiplex.from_edges([0], [1], "buys", node_types=["user", "item"], directed=True)
    other = Multiplex.from_edges([0], [1], "buys", node_types=["user", "item", "alien"], num_nodes=3, directed=True)
    assert PairSpace(other, links_of=mx).all_pairs(0).tolist() == [[0, 1]]
