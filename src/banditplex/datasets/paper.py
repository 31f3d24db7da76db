"""The two synthetic data sets of the paper: one layer of a real data set, and near copies of it.

The paper describes each in one line and reports counts that do not follow from it: no layer of CKM has 51 nodes, and
no layer of Vickers has 18. The docstrings list what was tried; the defaults give the closest counts.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from banditplex.datasets.base import CKM, VICKERS
from banditplex.datasets.planted import similar_layer
from banditplex.multiplex import Multiplex
from banditplex.rng import stream


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
