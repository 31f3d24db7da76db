"""Certify: how far the log loss falls when one other layer is added to a model of the target layer alone.

Probabilities of a policy do not answer this: a policy must draw some layer even if none helps. Here, two logistic
regressions are compared, one on the target layer's columns and one that also has those of another layer, on edges and
negatives that they were not fitted to.

A layer may also be added with half its weight: half way from the logits without it to those with it. A layer that says
little makes a model overfit, so that half is better than all of it, and is proven with fewer edges.

The pairs that estimate a gain had no part in choosing the layer. Up to `MAX_LAYERS` other layers are all compared, each
fold of the pairs by regressions fitted to the other folds. Of more layers, some are chosen for each fold, on a graph
that has none of its pairs in any layer, and tested on that fold alone. So every edge tests, and none chooses what it
tests. Copies of layers that seem to help come after these. What other targets there are makes no difference.

Intervals hold for all layers and targets together (Bonferroni).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from banditplex.arrays import Floats, Ints
from banditplex.backend.compiling import map_on_cpu
from banditplex.backend.packing import EdgeTensors
from banditplex.nn import PackedGraph
from banditplex.nn.spectral import SPECTRAL_FOLDS, fold_of
from banditplex.rng import stream
from banditplex.training.comparison import STEPS, Comparison, Estimate
from banditplex.training.data import TrainingData
from banditplex.training.search import promising_layers

MAX_LAYERS = 40  # up to so many other layers, all are compared
LOOKS_OF_FOLD = 1_500_000  # of more layers: pairs of a target that are looked at, counted once for each layer
COMPARED, TESTED = 32, 8  # then so many of the layers are compared, and so many tested on that fold
SEEN = 2.0  # standard errors by which a layer seems to help: such layers are tested before copies of them


def layer_gains(data: TrainingData, seed: int) -> list[dict[str, Any]]:
    """Return the gains of other layers for each target: one row per target and layer compared, with layer indices.

    Gains are NaN with fewer than `FEWEST_EDGES` edges to test.
    """
    num_layers = data.full_mx.num_layers
    if num_layers == 1:
        return []
    every = num_layers - 1 <= MAX_LAYERS
    tested = num_layers - 1 if every else min(num_layers - 1, TESTED * SPECTRAL_FOLDS)  # of a target, at most
    family = len(STEPS) * num_layers * tested
    folds = None if every else Folds(data)

    def gains_of(instance: int) -> list[dict[str, Any]]:
        target, rows = int(data.targets[instance]), []
        compare = Comparison.of(data, data.full_view.graph, instance, stream(seed, "gains", target))
        layers = np.delete(np.arange(num_layers), target)
        if folds is None:
            falls = compare.falls(layers)
        else:
            layers, falls = folds.falls(compare)
        for layer, fall in zip(layers.tolist(), falls, strict=True):
            gain = first_clear([compare.estimate(each) for each in fall], family)
            rows.append({"target": target, "layer": layer, **gain, "helps": gain["low"] > 0})
        return rows

    return [row for rows in map_on_cpu(gains_of, range(len(data.targets)), data.device) for row in rows]


def first_clear(found: Sequence[Estimate], family: int) -> dict[str, float]:
    """Return the first gain of `STEPS` whose lower limit is above 0; if there is none, that with the highest one."""
    gains = [each.interval(family) | {"weight": step} for each, step in zip(found, STEPS, strict=True)]
    return next((gain for gain in gains if gain["low"] > 0), max(gains, key=lambda gain: gain["low"]))


class Folds:
    """Graphs that each lack the edges between the pairs of one fold, in every layer."""

    def __init__(self, data: TrainingData) -> None:
        edges = EdgeTensors.of(data.full_mx, data.device)
        fold = fold_of(torch.stack([edges.source, edges.destination], 1), edges.num_nodes)
        self._graphs = [PackedGraph.from_edges(edges.keep(fold != number)) for number in range(SPECTRAL_FOLDS)]

    def falls(self, whole: Comparison) -> tuple[Ints, Floats]:
        """Return layers (m,), and how far losses fall with each: chosen and fitted without a fold, tested on that fold.

        A layer is tested on those folds that it was chosen for; falls (m, steps, n) are NaN in the others.
        """
        chosen = [self._choose(whole, number) for number in range(SPECTRAL_FOLDS)]
        layers = np.unique(np.concatenate(chosen))
        alone, both = whole.columns(layers)
        falls, fold = np.full((len(layers), len(STEPS), len(whole.pairs)), np.nan), whole.fold.cpu().numpy()
        for number, some in enumerate(chosen):
            at = np.searchsorted(layers, some)
            here = np.ix_(at, np.arange(len(STEPS)), np.flatnonzero(fold == number))
            falls[here] = whole.falls_of(number, alone, both[at])
        return layers, falls

    def _choose(self, whole: Comparison, number: int) -> Ints:
        """Return the layers that seem to help most, by all that can be known without the pairs of a fold."""
        compare = whole.within(self._graphs[number], torch.nonzero(whole.fold != number).squeeze(1))
        others = np.delete(np.arange(whole.data.full_mx.num_layers), whole.target)
        layers = promising_layers(compare, others, COMPARED, LOOKS_OF_FOLD)
        without, added = compare.logits_with(layers)
        found = compare.estimates_of(without, added)
        score = np.array([each.gain / max(each.error, 1e-12) for each in found])
        best = np.argsort(-np.nan_to_num(score, nan=-np.inf), kind="stable")
        new = np.array(compare.are_new(without, added[best], [found[place] for place in best])) & (score[best] > SEEN)
        return layers[best[np.argsort(~new, kind="stable")[:TESTED]]]
