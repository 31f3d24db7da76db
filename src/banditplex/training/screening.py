"""Which of thousands of layers are worth a comparison: a bandit for best arms.

An arm is another layer; to pull it is to look at a pair of the target in that layer. All rounds have the same number of
pulls. The first one spreads them over all layers; each further one over the best eighth of them, which get eight times
as many (after Karnin, Koren and Somekh, Almost Optimal Exploration in Multi-Armed Bandits, 2013). So the cost does not
grow with the number of layers.

A layer is promising if its columns go with what a regression on the target's own columns leaves unexplained.
Regressions compare the same columns later, so any kind of relation counts: shared edges, shared communities, edges from
one community to another, reversed edges.
"""

import math

import numpy as np
import torch

from banditplex.arrays import Floats, Ints
from banditplex.training.comparison import RIDGE, Comparison, standardised
from banditplex.training.logistic import balanced, path

KEPT = 8  # a round goes on with one of so many layers
CELLS = 300_000  # pairs and layers that are looked at together


def promising_layers(compare: Comparison, layers: Ints, count: int, looks: int) -> Ints:
    """Return the `count` most promising of some layers (m,), the best first; all as they are, if there are no more.

    At most about so many pairs of the target are looked at, counted once for each layer.
    """
    rounds = math.ceil(math.log(len(layers) / count, KEPT)) if len(layers) > count else 0
    for more in reversed(range(rounds)):
        part = compare.part(looks // rounds // len(layers))
        best = np.argsort(-promise(part, layers), kind="stable")
        if not more or part is compare:
            return layers[best[:count]]
        layers = layers[best[: max(count, math.ceil(len(layers) / KEPT))]]
    return layers


def promise(compare: Comparison, layers: Ints) -> Floats:
    """Return how promising each of some layers (m,) is: the squared slope of the log loss in its standardised columns.

    These columns say much the same, so that a score test, which weighs all their directions alike, finds fewer helpers:
    of 24 and 12 with weak ones, 11 and 5 in a quarter of the pairs, instead of 16 and 10.
    """
    x, label = standardised(compare.alone)[0], compare.label
    if not 0 < label.sum() < len(label):
        return np.zeros(len(layers))
    weight = balanced(label)
    (beta,) = path(x, label, weight.unsqueeze(0), [RIDGE])
    residual = weight * (label - torch.sigmoid(x[0] @ beta[0]))
    size = max(1, CELLS // len(label))
    parts = (compare.of_layers(layers[start : start + size]) for start in range(0, len(layers), size))
    found = [(residual @ standardised(part)[0][:, :, :-1]).square().sum(1) for part in parts]
    return torch.cat(found).cpu().numpy()
