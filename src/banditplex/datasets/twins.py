"""The data set of the demo: three pairs of twin layers and two noise layers."""

from dataclasses import replace

from banditplex.datasets.planted import planted
from banditplex.multiplex import Multiplex

LAYERS = ("a", "a-twin", "b", "b-twin", "c", "c-twin", "noise-1", "noise-2")


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
    name = dict(zip(mx.layer_names, LAYERS, strict=True))
    relevant = {name[layer]: [name[other] for other in others] for layer, others in mx.metadata["relevant"].items()}
    return replace(mx, layer_names=LAYERS, metadata={"name": "twins", "relevant": relevant})
