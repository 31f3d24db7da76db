"""The two synthetic data sets of the paper, built from a layer of a real one and near copies of it.

The paper describes them in a line each and prints counts that this description does not yield: no layer of CKM has 51
nodes, none of Vickers 18. What was tried is in the docstrings; the counts that come nearest are the default.
"""

from collections.abc import Sequence

import numpy as np

from banditplex.datasets.catalog import CKM, VICKERS
from banditplex.datasets.planted import similar_layer
from banditplex.multiplex import Multiplex, Name
from banditplex.rng import stream


def rand_internship(*, whole: bool = False, seed: int = 0) -> Multiplex:
    """Return `rand-internship`: 106 nodes, 6 layers, 1,386 edges, undirected.

    Layer "ckm" is the advice layer of CKM, undirected, among the physicians of Peoria, the largest of four towns that
    share no tie. The others are 90, 10, 10, 5 and 1 % similar to it, over the same nodes. `metadata["relevant"]` pairs
    "ckm" with "similar-90" and gives the others nothing.

    The paper prints 51 nodes and 1,382 edges. Edges: 6 x 231 = 1,386 in Peoria; the whole layer gives 6 x 449 = 2,694
    (`whole=True`, 246 nodes), counted as arcs 6 x 480 = 2,880, Peoria's arcs 6 x 242 = 1,452, mutual ties 6 x 31 = 186.
    Nodes: a physician names three others at most, so 51 of them have no more than 153 arcs, 918 in six layers of one
    size: 51 and 1,382 do not go together. (51 physicians have a mutual tie, and 51 are named four times or more; among
    the latter there are 63 ties, 378 in six layers.)

    Parameters
    ----------
    whole
        Take all four towns, and those who have no tie.
    seed
        Opens the random stream of the similar layers.
    """
    base = CKM.load().subset(layers=["advice"]).to_undirected()
    if not whole:
        base = base.subset(nodes=_largest_component(base))
    return _with_similar(base, "ckm", (90, 10, 10, 5, 1), stream(seed, "rand-internship"))


def small_3_layers(*, whole: bool = False, seed: int = 0) -> Multiplex:
    """Return `small-3-layers`: 20 nodes, 3 layers, 522 edges, directed.

    Layer "vickers" is the layer "get on with" of Vickers among the first 20 students; the others are 90 and 10 %
    similar to it, over the same nodes. `metadata["relevant"]` pairs "vickers" with "similar-90".

    The paper prints 18 nodes and 541 edges. With three layers of one size, 10 % similarity needs .9 m non-edges beside
    m edges: at most 161 of the 306 ordered pairs of 18 nodes, 483 edges in all, so 18 and 541 do not go together.
    Tried: all 29 students, 3 x 361 = 1,083 arcs (`whole=True`); the first 18, 3 x 140 = 420; the first 20, 3 x 174 =
    522; the 18 who are named most, 3 x 209 = 627, the girls, 3 x 163 = 489, and all 29 undirected, 3 x 240 = 720, none
    of which leaves enough non-edges.

    Parameters
    ----------
    whole
        Take all students.
    seed
        Opens the random stream of the similar layers.
    """
    base = VICKERS.load().subset(layers=["get on with"])
    if not whole:
        base = base.subset(nodes=base.node_names[:20].tolist())
    return _with_similar(base, "vickers", (90, 10), stream(seed, "small-3-layers"))


def _largest_component(mx: Multiplex) -> list[Name]:
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(mx.to_scipy(mx.layer_names[0]), directed=False)
    largest: list[Name] = mx.node_names[component == np.bincount(component).argmax()].tolist()
    return largest


def _with_similar(base: Multiplex, name: str, percents: Sequence[int], rng: np.random.Generator) -> Multiplex:
    """Return the one layer of `base`, and layers that share the given percentages of its edges."""
    copies = [
        similar_layer(base.edge_index, base.num_nodes, percent / 100, rng, directed=base.directed)
        for percent in percents
    ]
    source, destination = np.concatenate([base.edge_index, *copies], axis=1)
    names = [name, *_copy_names(percents)]
    return Multiplex.from_indices(
        source,
        destination,
        np.repeat(np.arange(len(names)), base.num_edges),
        node_names=base.node_names,
        layer_names=names,
        directed=base.directed,
        metadata={"relevant": {name: ["similar-90"], "similar-90": [name]} | {other: [] for other in names[2:]}},
    )


def _copy_names(percents: Sequence[int]) -> list[str]:
    """Name near copies after their similarity; the second of one percentage is its "b"."""
    names = [f"similar-{percent}" for percent in percents]
    return [name + "b" * (name in names[:place]) for place, name in enumerate(names)]
