"""How well a model tells other edges from pairs without an edge: what `LinkPredictor.score` returns."""

import numpy as np

from banditplex.arrays import Ints
from banditplex.errors import InputError
from banditplex.evaluation.metrics import roc_auc
from banditplex.multiplex import Multiplex
from banditplex.pairs.known import KnownPairs, restrict
from banditplex.pairs.negatives import draw_negatives, uniform_pairs
from banditplex.prediction import FittedModel
from banditplex.rng import stream
from banditplex.terminal import warn


def mean_auc(fitted: FittedModel, test: Multiplex, seed: int) -> float:
    """Return the ROC-AUC of the edges of `test` against as many drawn negatives, the mean over target layers.

    Negatives are edges neither of the training graph nor of `test`. Edges of layers that are no targets, and of nodes
    or layers that the model does not know, are left out; a warning counts the latter.
    """
    mx = fitted.mx
    if test.directed != mx.directed:
        raise InputError(f"Expected test edges with directed={mx.directed}, got directed={test.directed}.")
    nodes = {name: place for place, name in enumerate(mx.node_names.tolist())}
    index = np.array([nodes.get(name, -1) for name in test.node_names.tolist()], np.int64)
    targets = [fitted.mx.layer_names[target] for target in fitted.targets.tolist()]
    unknown = [name for name in test.layer_names if name not in set(fitted.mx.layer_names)]
    if unknown:  # as when folds cut a table that is sorted by layer
        count = sum(test.edges(name).shape[1] for name in unknown)
        shown = ", ".join(map(repr, unknown[:3])) + ", ..." * (len(unknown) > 3)
        warn(
            f"{count} of {test.num_edges} test edges are in layers that the model does not know: {shown}. "
            "If the table is sorted by layer, shuffle its rows before cross-validation: table.sample(frac=1)."
        )
    edges = {name: index[test.edges(name)].T for name in targets if name in test.layer_names}
    edges = {name: pairs[pairs[:, 0] != pairs[:, 1]] for name, pairs in edges.items()}
    known = {name: pairs[(pairs >= 0).all(axis=1)] for name, pairs in edges.items()}
    missing = sum(len(edges[name]) - len(known[name]) for name in edges)
    if missing:
        total = sum(map(len, edges.values()))
        warn(f"{missing} of {total} test edges have nodes that the model does not know.")
    known = {name: pairs for name, pairs in known.items() if len(pairs)}
    if not known:
        raise InputError(f"Expected test edges in a target layer ({', '.join(map(repr, targets[:10]))}), got none.")
    layers = [np.full(len(pairs), mx.layer_index(name)) for name, pairs in known.items()]
    negatives = _negatives(mx, np.concatenate(layers), np.concatenate(list(known.values())), seed)
    parts = np.split(negatives, np.cumsum([len(pairs) for pairs in known.values()])[:-1])
    values = [
        roc_auc(np.repeat([1, 0], len(pairs)), fitted.logits(np.concatenate([pairs, drawn]), name))
        for (name, pairs), drawn in zip(known.items(), parts, strict=True)
    ]
    return float(np.mean(values))


def _negatives(mx: Multiplex, layer: Ints, test: Ints, seed: int) -> Ints:
    """Return a pair without an edge for each test edge (n, 2) of layers (n,)."""
    known = restrict(KnownPairs(mx), mx)
    known.add(layer, test)
    free = known.num_free()[layer]
    if not free.all():
        name = mx.layer_names[int(layer[np.argmin(free)])]
        raise InputError(f"Expected a pair without an edge in layer {name!r}, got none.")
    propose = uniform_pairs(mx, known.space)
    return draw_negatives(layer, known, propose, stream(seed, "score"), distinct=False, fallback=propose)
