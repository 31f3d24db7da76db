"""A synthetic multiplex whose layers come from different mechanisms, as layers of real networks do."""

import numpy as np

from banditplex.arrays import Ints
from banditplex.datasets.planted import planted, similar_layer
from banditplex.datasets.sampling import decode, num_pairs, permutations, positions, words
from banditplex.multiplex import Multiplex
from banditplex.rng import stream

NODES, EDGES = 300, 600
RELEVANT = {
    "communities": ["communities-kin"],
    "communities-kin": ["communities"],
    "communities-far": [],
    "plane": ["plane-kin"],
    "plane-kin": ["plane"],
    "plane-far": [],
    "hubs": ["hubs-kin"],
    "hubs-kin": ["hubs"],
    "noise": [],
}


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
    relevant = {name: list(kin) for name, kin in RELEVANT.items()}
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
