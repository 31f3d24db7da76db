"""Which of thousands of layers are worth a comparison: a bandit for best arms.

An arm is another layer; to pull it is to look at a pair of the target in that layer. The first round spreads two thirds
of all pulls over all layers. Each further one goes on with the best quarter of them, until as many pairs again have
been looked at in each of these, or all. What was seen before still counts. So, of 4,096 layers, half as many pulls find
as many helpers as if all arms were pulled alike. With the best eighth, as many pulls in each round, and what was seen
before forgotten, as in successive halving (Karnin, Koren and Somekh, Almost Optimal Exploration in Multi-Armed Bandits,
2013), nothing was saved.

A layer is promising if its columns go with what a regression on the target's own columns leaves unexplained.
Regressions compare the same columns later, so any kind of relation counts: shared edges, shared communities, edges from
one community to another, reversed edges.
"""

import math

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Floats, Ints
from banditplex.training.comparison import RIDGE, Comparison, standardised
from banditplex.training.logistic import LEAST_SCALE, balanced, path

FIRST = 2 / 3  # share of the looks that the first round takes; the next ones take a quarter, an eighth, ... of it
KEPT: float = 4  # a round goes on with one of so many layers
MORE = 2  # and ends with so many times as many pairs in each
FEWEST_PAIRS = 200  # of each layer
CELLS = 300_000  # pairs and layers that are looked at together
GOLDEN = (math.sqrt(5) - 1) / 2


def promising_layers(compare: Comparison, layers: Ints, count: int, looks: int) -> Ints:
    """Return the `count` most promising of some layers (m,), the best first; all as they are, if there are no more.

    At most so many pairs of the target are looked at, counted once for each layer; but no fewer than `FEWEST_PAIRS` of
    a layer in the first round.
    """
    if len(layers) <= count:
        return layers
    order = spread(len(compare.pairs)).to(compare.pairs.device)
    seen = max(FEWEST_PAIRS, int(FIRST * looks) // compare.price // len(layers))
    sums = look(compare.within(compare.graph, order[:seen]), layers)
    while (kept := math.ceil(len(layers) / KEPT)) > count and seen < len(order):
        best = most(promise(sums, seen), kept)
        more = look(compare.within(compare.graph, order[seen : MORE * seen]), layers[best])
        layers, sums, seen = layers[best], sums[:, torch.from_numpy(best).to(sums.device)] + more, MORE * seen
    return layers[most(promise(sums, min(seen, len(order))), count)]


def most(values: Floats, count: int) -> Ints:
    """Return the places of the largest values, the largest first."""
    return np.argsort(-values, kind="stable")[:count]


def spread(count: int) -> Tensor:
    """Return an order of so many pairs whose first ones, of any number, are spread evenly over all."""
    return torch.argsort(torch.arange(count, dtype=torch.float64) * GOLDEN % 1)


def unexplained(compare: Comparison) -> Tensor:
    """Return what a regression on the target's own columns leaves of the labels, (n,); edges and negatives count alike.

    The sum is 0. Nothing is left, if there are only edges or no edges.
    """
    label = compare.label
    if not 0 < label.sum() < len(label):
        return torch.zeros_like(label)
    x, weight = standardised(compare.alone)[0], balanced(label)
    (beta,) = path(x, label, weight.unsqueeze(0), [RIDGE], light=x.shape[2] - 1)
    return weight * (label - torch.sigmoid(x[0] @ beta[0]))


def look(compare: Comparison, layers: Ints) -> Tensor:
    """Return sums over all pairs (3, m, G) of columns in each layer: times what is unexplained, alone, and squared.

    Sums of other pairs may be added. Each part has a regression of its own, as what is left by one that was fitted to
    more pairs goes with the target's columns in a part, and so with those of other layers.
    """
    residual = unexplained(compare)
    weight = torch.stack([residual, torch.ones_like(residual)])
    size, found = max(1, CELLS // compare.price // max(1, len(residual))), []
    for start in range(0, len(layers), size):
        columns = compare.of_layers(layers[start : start + size]).transpose(0, 1)
        x = columns.flatten(1)
        found.append(torch.cat([weight @ x, x.square().sum(0, keepdim=True)]).view(3, *columns.shape[1:]))
    return torch.cat(found, 1)


def promise(sums: Tensor, count: int) -> Floats:
    """Return how promising layers are (m,): the squared slope of the log loss in their standardised columns.

    It is told from the sums of `look` over so many pairs. The squares of all columns are added up: they say much the
    same, so that a score test, which weighs all directions alike, finds fewer (in a quarter of the pairs 11 of 24
    helpers and 5 of 12 weak ones, and this finds 16 and 10).
    """
    slope, total, squares = sums
    variance = (squares - total.square() / count) / max(1, count - 1)
    return (slope.square() / variance.clamp(min=LEAST_SCALE**2)).sum(1).cpu().numpy()
