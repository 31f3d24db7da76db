"""Splits of a multiplex into what a model may see and what it is asked about."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from banditplex.errors import InputError
from banditplex.evaluation.negatives import NegativeSampler
from banditplex.multiplex import Multiplex, Name
from banditplex.rng import stream

HIDE = ("layer", "pair")


@dataclass(frozen=True)
class Split:
    """What a model is trained on, and labelled pairs of each layer to test it on."""

    train: Multiplex
    hide: str
    layer: NDArray[np.int64]  # (n,) layer index of each test pair
    pairs: NDArray[np.int64]  # (n, 2) node indices
    label: NDArray[np.int64]  # (n,) 1 = held-out edge, 0 = no edge of the full multiplex

    def test(self, layer: Name) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the test pairs (n, 2), as node indices, and labels (n,) of a layer."""
        here = self.layer == self.train.layer_index(layer)
        return self.pairs[here], self.label[here]

    def check(self) -> None:
        """Prove that no test pair can be reached: refuse if one is an edge where it must not be."""
        positive = self.label == 1
        for index in range(self.train.num_layers):
            asked = self.layer == index if self.hide == "layer" else np.ones(len(positive), np.bool_)
            seen = self.train.has_edges(self.pairs[asked], self.train.layer_names[index])
            if seen.any():
                pair = tuple(self.pairs[asked][seen][0].tolist())
                raise InputError(f"Test pair {pair} is an edge of layer {self.train.layer_names[index]!r} in training.")


def split(mx: Multiplex, *, hide: str, share: float = 0.2, seed: int = 0) -> Split:
    """Hold out a share of every layer's edges, and as many pairs without an edge.

    With hide="layer" a held-out pair is removed from its own layer, and stays visible where else it is an edge;
    its negatives are no edges of their layer. With hide="pair" it is removed from every layer, and negatives are
    edges of none. Splits need an undirected multiplex without reverse arcs, or a directed one as it is.

    >>> mx = Multiplex.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 4], "a", num_nodes=5)
    >>> parts = split(mx, hide="layer")
    >>> parts.train.num_edges, parts.label.tolist()
    (4, [1, 0])
    """
    if hide not in HIDE:
        raise InputError(f"Expected hide to be one of {', '.join(HIDE)}, got {hide!r}.")
    if not 0 < share < 1:
        raise InputError(f"Expected a share between 0 and 1, got {share}.")
    rng = stream(seed, "split")
    loops = mx.edge_index[0] == mx.edge_index[1]
    if hide == "layer":
        out = _ranks(mx.edge_layer, loops, rng) < _counts(mx, loops, share)[mx.edge_layer]
        out &= ~loops
    else:
        out = _hide_pairs(mx, loops, share, rng)
    train = _without(mx, out)
    layer = mx.edge_layer[out]
    negatives = NegativeSampler(mx if hide == "layer" else _everywhere(mx)).draw(layer, rng, distinct=True)
    label = np.repeat([1, 0], len(layer)).astype(np.int64)
    pairs = np.concatenate([mx.edge_index[:, out].T, negatives])
    return Split(train, hide, np.concatenate([layer, layer]), pairs, label)


def _counts(mx: Multiplex, loops: NDArray[np.bool_], share: float) -> NDArray[np.int64]:
    """Return how many edges of each layer are held out: the rounded share, at least 1 of 2 or more."""
    size = np.bincount(mx.edge_layer[~loops], minlength=mx.num_layers)
    count = np.clip(np.rint(share * size), 1, np.maximum(size - 1, 0))
    return np.where(size > 1, count, 0).astype(np.int64)


def _ranks(layer: NDArray[np.int64], last: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random rank of each edge within its layer, those marked `last` behind all others."""
    order = np.lexsort((rng.random(len(layer)), last, layer))
    rank = np.empty(len(layer), np.int64)
    start = np.searchsorted(layer[order], np.arange(layer.max(initial=-1) + 1))
    rank[order] = np.arange(len(layer)) - start[layer[order]]
    return rank


def _hide_pairs(mx: Multiplex, loops: NDArray[np.bool_], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose a share of all distinct pairs; every edge on a chosen pair, in either direction, is held out."""
    low, high = mx.edge_index.min(axis=0), mx.edge_index.max(axis=0)
    _, which = np.unique(low * mx.num_nodes + high, return_inverse=True)
    chosen = rng.random(which.max(initial=-1) + 1) < share
    out: NDArray[np.bool_] = chosen[which] & ~loops
    return out


def _without(mx: Multiplex, out: NDArray[np.bool_]) -> Multiplex:
    offsets = np.concatenate([[0], np.cumsum(~out)])[mx.layer_offsets].astype(np.int64)
    return replace(
        mx,
        edge_index=np.ascontiguousarray(mx.edge_index[:, ~out]),
        layer_offsets=offsets,
        weight=None if mx.weight is None else mx.weight[~out],
        time=None if mx.time is None else mx.time[~out],
    )


def _everywhere(mx: Multiplex) -> Multiplex:
    """Return the multiplex in which every layer has all edges of all layers."""
    keep = mx.edge_index[0] != mx.edge_index[1]
    ends = np.sort(mx.edge_index[:, keep], axis=0)
    ends = np.unique(ends, axis=1)
    if mx.directed:
        ends = np.unique(np.concatenate([ends, ends[::-1]], axis=1), axis=1)
    layer = np.repeat(np.arange(mx.num_layers), ends.shape[1])
    return Multiplex.from_indices(
        np.tile(ends[0], mx.num_layers), np.tile(ends[1], mx.num_layers), layer,
        node_names=mx.node_names, layer_names=mx.layer_names, directed=mx.directed,
    )  # fmt: skip
