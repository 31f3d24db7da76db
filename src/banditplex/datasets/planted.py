"""Synthetic multiplexes with known relevant layers: base layers, near copies, noise; and the two sets of the paper.

The paper describes each of its sets, one layer of a real data set and near copies of it, in one line and reports counts
that do not follow from it: no layer of CKM has 51 nodes, and no layer of Vickers has 18. The docstrings list what was
tried; the defaults give the closest counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from banditplex.arrays import Ints
from banditplex.datasets import sampling
from banditplex.datasets.base import CKM, VICKERS
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.rng import stream

_BATCH = 1 << 21  # edges per batch: bounds the memory; another value gives other edges for the same seed
_TWINS = ("a", "a-twin", "b", "b-twin", "c", "c-twin", "noise-1", "noise-2")


def planted(
    num_layers: int,
    groups: int,
    similarity: float,
    *,
    group_size: int = 2,
    num_nodes: int = 1_000,
    edges_per_layer: int = 5_000,
    communities: int = 10,
    within: float = 0.8,
    active_nodes: int | None = None,
    seed: int = 0,
) -> Multiplex:
    """Return an undirected multiplex with known relevant layers.

    The first layers form groups: a base layer with its own communities, and near copies of it. The other layers are
    noise. All layers have the same number of edges, and all counts are exact:

    - A base layer assigns nodes at random to `communities` of equal size (up to one node). It draws
      `within * edges_per_layer` edges from the pairs inside communities, and the others from the pairs across.
    - A near copy keeps `similarity * edges_per_layer` edges of its base layer and draws the others from its non-edges.
    - A noise layer draws all edges from all pairs.

    Many layers are made at once. Peak memory is close to the size of the result, even for 100 M edges.

    Parameters
    ----------
    num_layers
        Total number of layers; those beyond `groups * group_size` are noise.
    groups, group_size
        Number of groups, and number of layers per group, base layer included.
    similarity
        Share of edges that a near copy keeps, 0 to 1; the count is rounded.
    num_nodes, edges_per_layer
        Size of each layer.
    communities, within
        Number of communities of a base layer, and share of its edges inside communities; the count is rounded.
    active_nodes
        Number of nodes, chosen at random for each group and each noise layer, that its edges are drawn among; None:
        all nodes.
    seed
        Seed of the random numbers.

    Returns
    -------
    Multiplex
        `metadata["relevant"]` maps each layer to the other layers of its group, base layer first, and noise to [].

    >>> mx = planted(5, groups=2, similarity=0.9, num_nodes=100, edges_per_layer=300)
    >>> mx
    Multiplex(100 nodes, 5 layers, 1,500 edges, undirected): 'g1-base' (300), 'g1-copy1' (300), 'g2-base' (300),
    'g2-copy1' (300), ... 1 more
    >>> mx.metadata["relevant"]["g1-base"], mx.metadata["relevant"]["noise1"]
    (['g1-copy1'], [])
    >>> float(mx.summary().overlap_frame().loc["g1-base", "g1-copy1"]) == 270 / 330
    True
    """
    chosen = num_nodes if active_nodes is None else active_nodes
    if not 2 <= chosen <= num_nodes:
        raise InputError(f"Expected active_nodes from 2 to {num_nodes:,}, the number of nodes, got {chosen:,}.")
    sampling.check_counts(
        num_layers=(num_layers, 1), groups=(groups, 0), group_size=(group_size, 2), num_nodes=(chosen, 2),
        edges_per_layer=(edges_per_layer, 1), communities=(communities, 1),
    )  # fmt: skip
    if chosen > 1 << 31:  # pairs are numbered in 62 bits
        raise InputError(f"Expected num_nodes of at most {1 << 31:,}, got {chosen:,}.")
    sampling.check_share("similarity", similarity)
    sampling.check_share("within", within)
    if groups * group_size > num_layers:
        least = f"{groups * group_size:,} for {groups:,} groups of {group_size:,} layers"
        raise InputError(f"Expected num_layers of at least {least}, got {num_layers:,}.")
    population, layout = sampling.num_pairs(chosen), sampling.Communities(chosen, communities if groups else 1)
    if edges_per_layer > population:
        most = f"{population:,}, the pairs of {chosen:,} nodes"
        raise InputError(f"Expected edges_per_layer of at most {most}, got {edges_per_layer:,}.")
    kept, inside = round(similarity * edges_per_layer), round(within * edges_per_layer)
    if groups:
        check_similarity(similarity, edges_per_layer, chosen, population)
        layout.check_room(inside, edges_per_layer, within=within)
    plan = _Plan(num_layers, groups, group_size, edges_per_layer, kept, inside, layout)
    edges = np.empty((2, num_layers * edges_per_layer), np.int64)
    place = 0
    for codes in _layers(plan, stream(seed, "planted")):
        span = slice(place, place + codes.size)
        edges[0, span], edges[1, span] = sampling.decode(codes.ravel(), chosen)
        place = span.stop
    if chosen < num_nodes:
        _place(edges.reshape(2, num_layers, -1), plan, num_nodes, stream(seed, "planted nodes"))
    members = "base", *_numbered("copy", group_size - 1)
    named = [[f"{group}-{member}" for member in members] for group in _numbered("g", groups)]
    relevant = sampling.relevant_layers(named, _numbered("noise", num_layers - groups * group_size))
    offsets = np.arange(num_layers + 1, dtype=np.int64) * edges_per_layer
    metadata = {"name": "planted", "relevant": relevant}
    return Multiplex(edges, offsets, tuple(relevant), np.arange(num_nodes), metadata=metadata)


def twins() -> Multiplex:
    """Return `twins`: 200 nodes, 8 layers, 4,800 edges, undirected; identical on every platform and in every version.

    Layers "a", "b" and "c" have 600 edges each, 510 of them inside 10 communities of 20 nodes, which differ from layer
    to layer. Each has a twin that keeps 480 of its edges (80 %) and draws 120 from its non-edges. "noise-1" and
    "noise-2" are 600 pairs at random. `metadata["relevant"]` maps each layer to its twin, and noise to [].

    The table shows how much a second layer helps: ROC-AUC of a logistic regression on degrees, common neighbours and
    Adamic-Adar index of a pair in the target layer and in one other layer, with the edge indicator of the latter. A
    fifth of the target's edges are test edges and hidden in the target layer only, with as many non-edges. Values are
    means over 3 splits and the layers of a row.

    =========  ==========  =============  ============  ==============
    target     own layer   random layer   right layer   right - random
    =========  ==========  =============  ============  ==============
    a, b, c    .765        .784           .949          .165
    twins      .634        .665           .895          .230
    noise      .548        .538           -             -
    =========  ==========  =============  ============  ==============

    "Random layer" is the mean over the seven other layers, the right one included. `tests/datasets/test_twins.py`
    checks the table.

    >>> mx = twins()
    >>> mx
    Multiplex(200 nodes, 8 layers, 4,800 edges, undirected): 'a' (600), 'a-twin' (600), 'b' (600), 'b-twin' (600),
    ... 4 more
    >>> mx.metadata["relevant"]["b-twin"]
    ['b']
    """
    mx = planted(8, 3, 0.8, num_nodes=200, edges_per_layer=600, communities=10, within=0.85, seed=0)
    name = dict(zip(mx.layer_names, _TWINS, strict=True))
    relevant = {name[layer]: [name[other] for other in others] for layer, others in mx.metadata["relevant"].items()}
    return replace(mx, layer_names=_TWINS, metadata={"name": "twins", "relevant": relevant})


def _place(edges: Ints, plan: "_Plan", num_nodes: int, rng: np.random.Generator) -> None:
    """Put the active nodes of edges (2, layers, E), numbered from 0, at random among all nodes, in place."""
    grouped = plan.groups * plan.group_size
    spans = [slice(first, first + plan.group_size) for first in range(0, grouped, plan.group_size)]
    for span in spans + [slice(layer, layer + 1) for layer in range(grouped, plan.num_layers)]:
        node = sampling.distinct(rng, 1, num_nodes, plan.layout.num_nodes)[0]  # sorted, so that edges stay sorted
        edges[:, span] = node[edges[:, span]]


def similar_layer(
    edges: Any, num_nodes: int, similarity: float, rng: np.random.Generator, *, directed: bool = False
) -> Ints:
    """Return a near copy of a layer: it keeps a share of `edges` and draws the others from the non-edges.

    Parameters: `edges`: distinct edges (2, E) of node indices, without self loops; undirected ones in either order.
    `num_nodes`: number of nodes. `similarity`: share of edges kept, 0 to 1: `round(similarity * E)` edges. `rng`:
    random number generator. `directed`: whether (u, v) and (v, u) are two edges.

    Returns
    -------
    (2, E) array, sorted; undirected edges have the smaller index first.

    >>> similar_layer([[0, 1, 2], [1, 2, 3]], 4, 1 / 3, np.random.default_rng(0)).shape
    (2, 3)
    """
    source, destination = np.asarray(edges, dtype=np.int64)
    if not directed:
        source, destination = np.minimum(source, destination), np.maximum(source, destination)
    ends = np.append(source, destination)
    if ends.size and not 0 <= ends.min() <= ends.max() < num_nodes:
        raise InputError(f"Expected node indices from 0 to {num_nodes - 1}, got {ends.min()} to {ends.max()}.")
    if (source == destination).any():
        raise InputError("Expected edges without self loops, got some.")
    base = np.unique(sampling.encode(source, destination, num_nodes, directed=directed))[None]
    if base.size < source.size:
        raise InputError("Expected distinct edges, got duplicates.")
    population = sampling.num_pairs(num_nodes, directed=directed)
    kept = check_similarity(similarity, base.size, num_nodes, population)
    codes = sampling.near_copy(rng, base, population, kept).ravel()
    return np.stack(sampling.decode(codes, num_nodes, directed=directed))


def check_similarity(similarity: float, num_edges: int, num_nodes: int, population: int) -> int:
    """Return how many edges a near copy keeps; refuse bad shares, and layers with too few non-edges for the others."""
    sampling.check_share("similarity", similarity)
    kept = round(similarity * num_edges)
    free = population - num_edges
    if num_edges - kept > free:
        edges = f"{num_edges - kept:,} of {num_edges:,} edges (similarity {similarity:g})"
        got = f"{free:,} non-edges ({num_nodes:,} nodes, {population:,} pairs)"
        raise InputError(f"Expected enough non-edges to replace {edges}, got {got}.")
    return kept


class _Plan(NamedTuple):
    """What `planted` draws: counts of layers and edges, and the pairs inside and across communities."""

    num_layers: int
    groups: int
    group_size: int
    edges_per_layer: int
    kept: int  # edges of a base layer that a near copy has
    inside: int  # edges of a base layer inside communities
    layout: sampling.Communities


def _layers(plan: _Plan, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield the edge codes (rows, edges) of some layers at a time, layer after layer."""
    population = sampling.num_pairs(plan.layout.num_nodes)
    most = 2**62 // population  # keys of `distinct` must fit 63 bits
    batch = max(1, min(_BATCH // max(plan.edges_per_layer, plan.layout.num_nodes), most))
    copies = plan.group_size - 1
    groups_at_once = max(1, batch // plan.group_size)
    for first in range(0, plan.groups, groups_at_once):
        base = _base(plan, rng, min(groups_at_once, plan.groups - first))
        if len(base) * copies <= batch:
            near = sampling.near_copy(rng, np.repeat(base, copies, axis=0), population, plan.kept)
            yield np.concatenate([base[:, None], near.reshape(len(base), copies, -1)], axis=1)
        else:  # a group that does not fit into one batch
            yield base
            for done in range(0, copies, batch):
                yield sampling.near_copy(rng, np.repeat(base, min(batch, copies - done), axis=0), population, plan.kept)
    noise = plan.num_layers - plan.groups * plan.group_size
    for first in range(0, noise, batch):
        yield sampling.distinct(rng, min(batch, noise - first), population, plan.edges_per_layer)


def _base(plan: _Plan, rng: np.random.Generator, rows: int) -> Ints:
    """Draw base layers: random communities, and exact numbers of edges inside and across them."""
    layout = plan.layout
    inside = sampling.distinct(rng, rows, layout.num_inside, plan.inside)
    across = sampling.distinct(rng, rows, layout.num_across, plan.edges_per_layer - plan.inside)
    return np.sort(layout.codes(inside, across, sampling.permutations(rng, rows, layout.num_nodes)), axis=1)


def _numbered(word: str, count: int) -> list[str]:
    """Return names that sort in the order of their numbers."""
    width = len(str(count))
    return [f"{word}{number:0{width}}" for number in range(1, count + 1)]


def rand_internship(*, whole: bool = False, seed: int = 0) -> Multiplex:
    """Return `rand-internship`: 106 nodes, 6 layers, 1,386 edges, undirected.

    Layer "ckm" is the undirected advice layer of CKM, restricted to the physicians of Peoria. Peoria is the largest of
    four towns, which share no tie. The other layers have the same nodes and are 90, 10, 10, 5 and 1 % similar to it.
    `metadata["relevant"]` pairs "ckm" with "similar-90"; the others have no relevant layer.

    The paper reports 51 nodes and 1,382 edges. Edges: Peoria gives 6 x 231 = 1,386; the whole layer (`whole=True`, 246
    nodes) 6 x 449 = 2,694, as directed edges 6 x 480 = 2,880; directed edges of Peoria 6 x 242 = 1,452; mutual ties
    6 x 31 = 186. Nodes: each physician names at most three others, so 51 physicians have at most 153 directed edges,
    918 in six layers of equal size: 51 nodes and 1,382 edges are impossible together. (51 physicians have a mutual
    tie, and 51 are named four times or more; the latter have 63 ties among them, 378 in six layers.)

    Parameters: `whole`: use all four towns, isolated physicians included. `seed`: seed of the near copies.
    """
    from scipy.sparse.csgraph import connected_components

    base = CKM.load().subset(layers=["advice"]).to_undirected()
    if not whole:
        _, town = connected_components(base.to_scipy("advice"), directed=False)
        base = base.subset(nodes=base.node_names[town == np.bincount(town).argmax()].tolist())
    return _with_similar(base, "ckm", (90, 10, 10, 5, 1), stream(seed, "rand-internship"))


def small_3_layers(*, whole: bool = False, seed: int = 0) -> Multiplex:
    """Return `small-3-layers`: 20 nodes, 3 layers, 522 edges, directed.

    Layer "vickers" is the layer "get on with" of Vickers among the first 20 students. The other layers have the same
    nodes and are 90 and 10 % similar to it. `metadata["relevant"]` pairs "vickers" with "similar-90".

    The paper reports 18 nodes and 541 edges. A layer of m edges needs .9 m non-edges for a copy with 10 % similarity.
    So m is at most 161 of the 306 ordered pairs of 18 nodes, 483 edges in three layers of equal size: 18 nodes and 541
    edges are impossible together. Tried: all 29 students, 3 x 361 = 1,083 directed edges (`whole=True`); the first 18,
    3 x 140 = 420; the first 20, 3 x 174 = 522. Too few non-edges: the 18 who are named most, 3 x 209 = 627; the girls,
    3 x 163 = 489; all 29 undirected, 3 x 240 = 720.

    Parameters: `whole`: use all students. `seed`: seed of the near copies.
    """
    base = VICKERS.load().subset(layers=["get on with"])
    if not whole:
        base = base.subset(nodes=base.node_names[:20].tolist())
    return _with_similar(base, "vickers", (90, 10), stream(seed, "small-3-layers"))


def _with_similar(base: Multiplex, name: str, percents: Sequence[int], rng: np.random.Generator) -> Multiplex:
    """Return a multiplex of the single layer of `base` and near copies that share these percentages of its edges."""
    layer, directed = (base.edge_index, base.num_nodes), base.directed
    copies = [similar_layer(*layer, percent / 100, rng, directed=directed) for percent in percents]
    source, destination = np.concatenate([base.edge_index, *copies], axis=1)
    similar = [f"similar-{percent}" for percent in percents]  # a second copy of the same percentage ends in "b"
    names = [name, *(each + "b" * (each in similar[:place]) for place, each in enumerate(similar))]
    relevant = {name: ["similar-90"], "similar-90": [name]} | {other: [] for other in names[2:]}
    known: dict[str, Any] = {"node_names": base.node_names, "layer_names": names, "metadata": {"relevant": relevant}}
    layers = np.repeat(np.arange(len(names)), base.num_edges)
    return Multiplex.from_indices(source, destination, layers, directed=directed, **known)
