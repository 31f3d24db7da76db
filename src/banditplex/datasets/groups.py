"""Synthetic multiplexes: groups of layers that share communities or positions, and layers of different mechanisms."""

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from banditplex.arrays import Ints
from banditplex.datasets import sampling
from banditplex.datasets.planted import planted, similar_layer
from banditplex.datasets.sampling import decode, num_pairs, permutations, positions, words
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.registry import check_choice
from banditplex.rng import stream

Shared = Literal["communities", "positions"]
Overlap = Literal["independent", "disjoint", "copied"]
Kin = Literal["alike", "opposite"]


def groups(
    num_layers: int = 60,
    group_size: int = 5,
    *,
    noise_layers: int = 0,
    num_nodes: int = 400,
    edges_per_layer: int = 800,
    shared: Shared = "communities",
    num_communities: int = 10,
    within: float = 0.85,
    kin: Kin = "alike",
    overlap: Overlap = "independent",
    copied: float = 0.5,
    seed: int = 0,
) -> Multiplex:
    """Return an undirected multiplex in which the layers of a group help each other, and no other layer helps.

    Each group has its own near pairs of nodes. A layer draws `within * edges_per_layer` edges from the near pairs of
    its group, and the others from the other pairs; all counts are exact.

    Parameters
    ----------
    num_layers, group_size
        Total number of layers, and number of layers per group.
    noise_layers
        How many of all layers are noise: pairs at random.
    num_nodes, edges_per_layer
        Size of each layer.
    shared
        What a group shares. "communities": near pairs are those inside `num_communities` communities of equal size
        (up to one node). "positions": nodes have positions in a square, and the nearest pairs are near, as many as
        "communities" would have. All pairs of nodes are compared, once for each group.
    num_communities
        Number of communities.
    within
        Share of the edges between near pairs, 0 to 1; the count is rounded.
    kin
        Which pairs are near in the layers of a group after the first one. "alike": the same. "opposite": pairs of nodes
        of opposite communities, as of buyers and sellers; each community has one opposite. Such layers share few edges
        with the first one, but nodes of a community have neighbours in common there. For shared "communities", an even
        number of them and of the same size, and overlap "independent".
    overlap
        How the edges of a group's layers are drawn. "independent": each layer on its own. "disjoint": no pair is linked
        in two layers of the group. "copied": the second layer and those after it keep a share of the first one's
        edges, and draw the others from its non-edges.
    copied
        With `overlap="copied"`, the share of edges kept, 0 to 1; rounded for near and for other pairs.
    seed
        Seed of the random numbers.

    Returns
    -------
    Multiplex
        `metadata["relevant"]` maps each layer to the other layers of its group, and noise to [].

    >>> mx = groups(7, 3, noise_layers=1, num_nodes=100, num_communities=4, edges_per_layer=200,
    ...             overlap="disjoint")
    >>> mx
    Multiplex(100 nodes, 7 layers, 1,400 edges, undirected): 'g0-0' (200), 'g0-1' (200), 'g0-2' (200), 'g1-0' (200),
    ... 3 more
    >>> mx.metadata["relevant"]["g1-0"], mx.metadata["relevant"]["noise-0"]
    (['g1-1', 'g1-2'], [])
    >>> int(mx.subset(["g0-0", "g0-1", "g0-2"]).union().num_edges)
    600
    """
    check_choice("shared", shared, get_args(Shared))
    check_choice("overlap", overlap, get_args(Overlap))
    check_choice("kin", kin, get_args(Kin))
    sampling.check_counts(
        num_layers=(num_layers, 1), group_size=(group_size, 1), noise_layers=(noise_layers, 0),
        num_nodes=(num_nodes, 2), edges_per_layer=(edges_per_layer, 1), num_communities=(num_communities, 1),
    )  # fmt: skip
    sampling.check_share("within", within)
    sampling.check_share("copied", copied)
    num_groups, left = divmod(num_layers - noise_layers, group_size)
    if num_groups < 0 or left:
        got = f"{num_layers:,} layers, {noise_layers:,} of noise, and groups of {group_size:,}"
        raise InputError(f"Expected num_layers to be noise_layers and a multiple of group_size, got {got}.")
    layout = sampling.Communities(num_nodes, num_communities)
    opposite = _opposite(kin, group_size, shared, overlap, layout)
    near = round(within * edges_per_layer)
    layout.check_room(near, edges_per_layer, within=within)
    rng = stream(seed, "groups")
    codes = np.empty((num_layers, edges_per_layer), np.int64)
    for first in range(0, num_groups * group_size, group_size):
        inside = _draw(rng, group_size, layout.num_inside, near, overlap, copied)
        across = _draw(rng, group_size, layout.num_across, edges_per_layer - near, overlap, copied)
        here = slice(first, first + group_size)
        if shared == "communities":
            codes[here] = layout.codes(inside, across, sampling.permutations(rng, 1, num_nodes), opposite=opposite)
        else:
            codes[here] = _in_the_plane(rng, layout, inside, across)
    every = sampling.num_pairs(num_nodes)
    codes[num_groups * group_size :] = sampling.distinct(rng, noise_layers, every, edges_per_layer)
    codes.sort(axis=1)
    named = [[f"g{group}-{member}" for member in range(group_size)] for group in range(num_groups)]
    relevant = sampling.relevant_layers(named, [f"noise-{number}" for number in range(noise_layers)])
    return Multiplex(
        np.stack(sampling.decode(codes.ravel(), num_nodes)),
        np.arange(num_layers + 1, dtype=np.int64) * edges_per_layer,
        tuple(relevant),
        np.arange(num_nodes),
        metadata={"name": "groups", "relevant": relevant},
    )


def _opposite(
    kin: Kin, group_size: int, shared: Shared, overlap: Overlap, layout: sampling.Communities
) -> npt.NDArray[np.bool_] | None:
    """Return which layers of a group (group_size,) link opposite communities; None: none of them."""
    if kin == "alike":
        return None
    if (shared, overlap) != ("communities", "independent"):
        got = f"shared={shared!r} and overlap={overlap!r}"
        raise InputError(f"Expected shared='communities' and overlap='independent' with kin='opposite', got {got}.")
    if layout.number % 2 or layout.num_nodes % layout.number:
        got = f"{layout.number:,} communities of {layout.num_nodes:,} nodes"
        raise InputError(f"Expected an even number of communities of the same size with kin='opposite', got {got}.")
    return np.arange(group_size) > 0


def _draw(rng: np.random.Generator, layers: int, pairs: int, count: int, overlap: Overlap, copied: float) -> Ints:
    """Draw `count` of the numbers below `pairs` for each layer of a group: (layers, count)."""
    if overlap == "independent":
        return sampling.distinct(rng, layers, pairs, count)
    kept = round(copied * count) if overlap == "copied" else 0
    needed = layers * count if overlap == "disjoint" else 2 * count - kept
    if needed > pairs and layers > 1:
        edges = f"{count:,} edges for each of {layers:,} layers with overlap={overlap!r}"
        raise InputError(f"Expected at least {needed:,} pairs to draw {edges}, got {pairs:,}.")
    if overlap == "disjoint":
        drawn, order = sampling.distinct(rng, 1, pairs, layers * count), sampling.permutations(rng, 1, layers * count)
        return np.take_along_axis(drawn, order, axis=1).reshape(layers, count)
    base = sampling.distinct(rng, 1, pairs, count)
    return np.concatenate([base, sampling.near_copy(rng, np.repeat(base, layers - 1, axis=0), pairs, kept)])


def _in_the_plane(rng: np.random.Generator, layout: sampling.Communities, inside: Ints, across: Ints) -> Ints:
    """Return the codes of edges, given by their numbers among the near and the other pairs of random positions."""
    position = sampling.positions(rng, layout.num_nodes)
    population = sampling.num_pairs(layout.num_nodes)
    one, other = sampling.decode(np.arange(population), layout.num_nodes)
    distance = ((position[one] - position[other]) ** 2).sum(1)
    near = np.sort(np.argsort(distance, kind="stable")[: layout.num_inside])
    others = sampling.skip(across, np.repeat(near[None], len(across), axis=0), population)
    return np.concatenate([near[inside], others], axis=1)


NODES, EDGES = 300, 600


def mixed(seed: int = 0) -> Multiplex:
    """Return `mixed`: 300 nodes, 9 layers, undirected; the same edges for a seed on every platform.

    - "communities": 600 edges, 510 of them inside 20 communities of 15 nodes. "communities-kin" keeps 300 of its edges
      and draws the others from its non-edges.
    - "plane": nodes have positions in a square; 600 edges between near nodes. The squared distance of each pair is
      multiplied by a random factor from 1 to 4, and the smallest are edges. "plane-kin" has the same positions and
      other factors.
    - "hubs": preferential attachment, two edges per new node: 597 edges. "hubs-kin" keeps 298 of them.
    - "communities-far", "plane-far": drawn as "communities" and "plane", with other communities and positions.
    - "noise": 600 pairs at random.

    `metadata["relevant"]` maps each layer to its kin and back, and the others to [].

    >>> mx = mixed()
    >>> mx.num_nodes, mx.num_layers, mx.num_edges
    (300, 9, 5394)
    """
    groups = planted(5, 2, 0.5, num_nodes=NODES, edges_per_layer=EDGES, communities=20, within=0.85, seed=seed)
    rng = stream(seed, "mixed")
    place, elsewhere, hubs = positions(rng, NODES), positions(rng, NODES), _attach(rng)
    edges = {
        "communities": groups.edges("g1-base"),
        "communities-kin": groups.edges("g1-copy1"),
        "communities-far": groups.edges("g2-base"),
        "plane": _near(rng, place),
        "plane-kin": _near(rng, place),
        "plane-far": _near(rng, elsewhere),
        "hubs": hubs,
        "hubs-kin": similar_layer(hubs, NODES, 0.5, rng),
        "noise": groups.edges("noise1"),
    }
    source, destination = np.concatenate(list(edges.values()), axis=1)
    layer = np.repeat(np.arange(len(edges)), [each.shape[1] for each in edges.values()])
    kin = {name: f"{name}-kin" for name in ("communities", "plane", "hubs")}
    kin |= {other: name for name, other in kin.items()}
    relevant = {name: [kin[name]] if name in kin else [] for name in edges}
    return Multiplex.from_indices(
        source, destination, layer, node_names=np.arange(NODES), layer_names=list(edges),
        metadata={"name": "mixed", "relevant": relevant},
    )  # fmt: skip


def _near(rng: np.random.Generator, place: Ints) -> Ints:
    """Return the pairs (2, EDGES) with the smallest squared distances, each multiplied by a random factor."""
    low, high = decode(np.arange(num_pairs(NODES)), NODES)
    distance = ((place[low] - place[high]) ** 2).sum(1)
    factor = 256 + (words(rng, len(low)) % np.uint64(769)).astype(np.int64)
    chosen = np.sort(np.argsort(distance * factor, kind="stable")[:EDGES])
    return np.stack([low[chosen], high[chosen]])


def _attach(rng: np.random.Generator) -> Ints:
    """Return the edges of preferential attachment: new nodes link to two others, in proportion to their degrees."""
    ends = [0, 1]
    edges = [(0, 1)]
    for node in range(2, NODES):
        chosen: list[int] = []
        while len(chosen) < 2:
            other = ends[int(words(rng, 1)[0] % np.uint64(len(ends)))]
            if other not in chosen:
                chosen.append(other)
        edges += [(node, other) for other in chosen]
        ends += [node, node, *chosen]
    name = permutations(rng, 1, NODES)[0]
    return np.sort(name[np.array(edges).T], axis=0)
