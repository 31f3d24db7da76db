"""What other layers add to a regression on the target layer alone, on pairs that it was not fitted to.

Pairs that share a node are not independent: a layer without any relation to the target can fit the popularity of a
node by chance, in all its pairs at once. So the variance of the mean adds up the products of all pairs that share a
node (Aronow, Samii and Assenova, Political Analysis, 2015).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import stdtrit
from torch import Tensor

from banditplex.arrays import Floats, Ints
from banditplex.nn import PackedGraph
from banditplex.nn.bridges import Bridges
from banditplex.nn.pair_features import PairFeatures, other_features, own_features
from banditplex.nn.paths import FEW_PAIRS, Paths
from banditplex.nn.spectral import fold_of
from banditplex.training.data import TrainingData
from banditplex.training.logistic import LEAST_SCALE, balanced, path

MAX_EDGES = 2_000  # edges of a target that are fitted or tested
NEGATIVES, FEWEST, MANY = 4, 2, 4_000
"""Negatives per edge; fewer, but at least the second number, if there would be more in all than the third.

Together they weigh as much as the edges. With 200 layers of 640 edges, four prove 58 of 60 helpers, and two 52.
"""
RIDGE = 10.0
"""Penalty on squared coefficients of standardised columns, in pairs; a tenth of it on known ones: the target's own.

With the same penalty for all, any layer helps where the target has few edges, as more columns say with less penalty
what the target's own would say: of 2,070 comparisons of permuted layers of umls, 6.4 errors were the most (now 4.1).
"""
NEW = 0.03
"""Share of what half of it gains alone that a layer must add beside those before it: a copy of one adds nothing.

Where one of four helpers has 6 or 14 near copies, each helper is pooled once in 24 fits; without this rule, 57 of 72
others are, and 138 copies too many. Of 252 helpers in groups of 8, half copied, 215 are pooled instead of 231, and 234
instead of 238 with pairs hidden; with .05, 196 and 228. Panels become smaller by it, and ROC-AUC stays as it is.
"""
STEPS = (1.0, 0.5)
"""Weights with which a layer is added: the second, if it has not been proven to help with the first.

With 0.5, helpers are about 1.35 times as many standard errors above 0. Of permuted layers, 1.4 % are above 2 errors,
fewer than the 2.3 % of a normal distribution; with 0.25, 2.4 % would.
"""
BOLDER = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0)
"""Factors of logits that are tried.

Where the target's own columns tell nearly all edges, a penalty makes logits too modest, and any further column makes
them bolder: without these factors, 18 of 67 fits to permuted layers of umls would say that one helps.
"""
FEWEST_EDGES = 5  # with fewer to test, limits say nothing
LEVEL = 0.95
UNSEEN = 0.001
"""What rare pairs may change a gain by, though none of them was tested.

Where the target alone tells all tested pairs apart, layers seem to lower its loss, which is next to nothing, for sure.
"""


class Estimate(NamedTuple):
    """A mean with its standard error, from so many edges, which join so many nodes."""

    gain: float
    error: float
    edges: float
    nodes: float

    def interval(self, family: int) -> dict[str, float]:
        """Return the gain, with limits that hold with `LEVEL` for all of a family together.

        An error is known no better than from as many numbers as there are edges, or nodes, as edges of a node go
        together: few nodes make wide limits. Limits are wider by `UNSEEN`.
        """
        if self.edges < FEWEST_EDGES:
            return dict.fromkeys(("gain", "low", "high"), float("nan"))
        reach = float(stdtrit(min(self.edges, self.nodes) - 1, 1 - (1 - LEVEL) / 2 / family)) * self.error + UNSEEN
        return {"gain": self.gain, "low": self.gain - reach, "high": self.gain + reach}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Compares models of a target layer alone with models that also see another layer, on edges and negatives."""

    data: TrainingData
    graph: PackedGraph
    target: int
    pairs: Tensor  # (n, 2)
    label: Tensor  # (n,)
    bridged: bool = False  # whether bridges are among the columns of other layers

    @classmethod
    def of(
        cls, data: TrainingData, graph: PackedGraph, instance: int, rng: np.random.Generator, *,
        most: int = MAX_EDGES, negatives_each: int = NEGATIVES,
    ) -> "Comparison":  # fmt: skip
        """Take at most so many edges of a target, and draw their negatives."""
        target = int(data.targets[instance])
        edges = np.concatenate([data.train_edges.of(instance), data.validation_edges.of(instance)])
        edges = edges[np.lexsort(edges.T)]
        edges = edges if len(edges) <= most else edges[rng.permutation(len(edges))[:most]]
        size = min(negatives_each * len(edges), max(FEWEST * len(edges), MANY))
        negatives = data.full_negatives.draw(np.full(size, target), rng)
        label = np.repeat([1.0, 0.0], [len(edges), len(negatives)])
        pairs = torch.from_numpy(np.concatenate([edges, negatives])).to(data.device)
        return cls(data, graph, target, pairs, torch.from_numpy(label).float().to(data.device))

    def within(self, graph: PackedGraph, at: Tensor) -> "Comparison":
        """Return the same of some pairs (m,) in another graph."""
        return replace(self, graph=graph, pairs=self.pairs[at], label=self.label[at])

    @cached_property
    def price(self) -> int:
        """About how many times as long a look takes: where no compiled loop does it, neighbours are listed."""
        listed = self.graph.directed or self.data.visibility.weighted
        return 1 + listed * int(self.graph.both.row_degree.float().mean()) // 4

    @cached_property
    def fold(self) -> Tensor:
        """The fold of each pair, (n,)."""
        return fold_of(self.pairs, self.graph.num_nodes)

    def estimates_of(self, without: Tensor, added: Tensor) -> list[Estimate]:
        """Return what half of the way from logits without (1, n) to those with each layer (m, n) adds."""
        return [self.estimate(fall[-1]) for fall in falls_between(without, added, self.label)]

    def falls(self, layers: Ints) -> Floats:
        """Return how far the losses of pairs fall with each of some layers (m,), and weight: (m, steps, n)."""
        return falls_between(*self.logits_with(layers), self.label)

    def falls_of(self, number: int, alone: Tensor, both: Tensor) -> Floats:
        """Return the same for the pairs of a fold, by columns without (1, n, F) and with each layer (m, n, G)."""
        without, added = (self.logits_of(number, each, alone.shape[2]) for each in (alone, both))
        return falls_between(without, added, self.label[self.fold == number])

    def losses(self, columns: Tensor, known: int) -> Floats:
        """Return the losses (B, n) of the pairs by regressions on columns (B, n, F), as `logits` has them."""
        found: Floats = _log_loss(self.logits(columns, known), self.label).cpu().numpy()
        return found

    def logits_with(self, layers: Ints) -> tuple[Tensor, Tensor]:
        """Return the logits of the pairs by the target layer alone (1, n), and with each other layer (m, n)."""
        return self._logits(*self.columns(layers))

    def _logits(self, alone: Tensor, both: Tensor) -> tuple[Tensor, Tensor]:
        return self.logits(alone, alone.shape[2]), self.logits(both, alone.shape[2])

    def logits(self, columns: Tensor, known: int) -> Tensor:
        """Return the logits (B, n) of the pairs by regressions on columns (B, n, F), each fold by the others.

        The first so many columns are known: the question is what the others add.
        """
        result = columns.new_zeros(columns.shape[:2])
        for number in torch.unique(self.fold).tolist():
            result[:, self.fold == number] = self.logits_of(number, columns, known)
        return result

    def logits_of(self, number: int, columns: Tensor, known: int) -> Tensor:
        """Return the logits (B, m) of the pairs of a fold by regressions on columns (B, n, F) of the others.

        The first so many columns are known. Logits are 0 if there is nothing to fit.
        """
        fitted, tested = (torch.nonzero(each).squeeze(1) for each in (self.fold != number, self.fold == number))
        label = self.label[fitted]
        if not 0 < label.sum() < len(label):
            return columns.new_zeros(len(columns), len(tested))
        return _fitted(columns[:, fitted], label, columns[:, tested], known)

    @cached_property
    def alone(self) -> Tensor:
        """The columns of pairs in the target layer, (1, n, F)."""
        own, paths = self._own, Paths.of(self.graph.only(self._layer[:1]), largest=FEW_PAIRS)
        longer = torch.log1p(paths.between(self.pairs, self._layer, paths.lists.rows_of(self.pairs, self._layer)))
        return torch.cat([own.values, longer], 1).unsqueeze(0)

    def of_layers(self, layers: Ints) -> Tensor:
        """Return the columns of pairs in other layers, (m, n, G): those that networks see, and bridges if wanted."""
        layer = torch.from_numpy(layers).to(self.data.device)
        table = layer.expand(len(self.pairs), -1)
        found = other_features(self.graph, self.pairs, self._own.row, table, self.data.visibility).values
        found = found.view(*table.shape, found.shape[1])
        if self.bridged:
            found = torch.cat([found, self._bridges.columns(layer).unsqueeze(2)], 2)
        return found.transpose(0, 1)

    def renamed(self, layers: Ints, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Return the same logits as `logits_with`, with bridges alone, of layers whose nodes are renamed at random."""
        names = torch.from_numpy(rng.permutation(self.graph.num_nodes)).to(self.data.device)
        bridges = Bridges.of(self.graph, self.pairs, self._own.row, names)
        columns = bridges.columns(torch.from_numpy(layers).to(self.data.device)).T.unsqueeze(2)
        return self._logits(*self._beside(columns))

    @cached_property
    def _bridges(self) -> Bridges:
        return Bridges.of(self.graph, self.pairs, self._own.row)

    @cached_property
    def _own(self) -> PairFeatures:
        return own_features(self.graph, self.pairs, self._layer, self.data.visibility)

    @cached_property
    def _layer(self) -> Tensor:
        return torch.full((len(self.pairs),), self.target, device=self.data.device)

    def columns(self, layers: Ints) -> tuple[Tensor, Tensor]:
        """Return the columns of pairs in the target layer alone (1, n, F), and with each other layer (m, n, G)."""
        return self._beside(self.of_layers(layers))

    def _beside(self, more: Tensor) -> tuple[Tensor, Tensor]:
        return self.alone, torch.cat([self.alone.expand(len(more), -1, -1), more], 2)

    def are_new(self, without: Tensor, added: Tensor, alone: Sequence[Estimate]) -> list[bool]:
        """Return whether each of some layers adds something beside those before it: a copy of one does not.

        Given the logits without (1, n) and with each of them (m, n), and what half of each adds `alone`.
        """
        logits = torch.cat([without, added])
        before = torch.ones(len(logits), len(logits), dtype=logits.dtype, device=logits.device).tril()
        every = logits.T * before.unsqueeze(1)  # (1 + m, n, 1 + m): each with those before, the others 0
        losses = self.losses(every, known=len(logits))
        more = [self.estimate(fall).gain for fall in losses[:-1] - losses[1:]]
        return [gain > NEW * each.gain for gain, each in zip(more, alone, strict=True)]

    def estimate(self, fall: Floats) -> Estimate:
        """Return the weighted mean of falls (n,), of pairs that have one, and its standard error.

        Edges and negatives weigh the same. The variance sums the products of the deviations of all pairs that share a
        node; it is at least that of independent pairs.
        """
        there = np.isfinite(fall)
        fall, label, pairs = fall[there], self.label.cpu().numpy()[there], self.pairs.cpu().numpy()[there]
        edges = float(label.sum())
        if not 0 < edges < len(label):
            return Estimate(float("nan"), float("nan"), 0.0, 0.0)
        weight = np.where(label > 0, 0.5 / edges, 0.5 / (len(label) - edges))
        mean = float((weight * fall).sum())
        part = weight * (fall - mean)
        ends = np.unique(pairs, return_inverse=True)[1].reshape(pairs.shape)
        of_node = np.bincount(ends[:, 0], part, ends.max() + 1) + np.bincount(ends[:, 1], part, ends.max() + 1)
        alone = float(part @ part)
        error = float(np.sqrt(max(float(of_node @ of_node) - alone, alone)))
        return Estimate(mean, error, edges, float(len(np.unique(pairs[label > 0]))))


def falls_between(without: Tensor, added: Tensor, label: Tensor) -> Floats:
    """Return how far losses fall from logits without (1, n) to those with each layer (m, n): (m, steps, n).

    All logits are first made as much bolder as suits those without a layer.
    """
    bold = boldness(without, label)
    loss = torch.stack([_log_loss(torch.lerp(without, added, step) * bold, label) for step in STEPS], 1)
    return (_log_loss(without * bold, label) - loss).cpu().numpy()


def boldness(logit: Tensor, label: Tensor) -> float:
    """Return the factor of `BOLDER` with which logits (1, n) have the least loss."""
    tried = logit * logit.new_tensor(BOLDER).unsqueeze(1)
    return BOLDER[int((balanced(label) * _log_loss(tried, label)).mean(1).argmin())]


def standardised(x: Tensor, *more: Tensor) -> tuple[Tensor, ...]:
    """Return columns x (..., n, F) and more like them with the mean and deviation of x removed, and a constant last."""
    mean = x.mean(-2, keepdim=True)
    variance = (x - mean).square().sum(-2, keepdim=True) / (x.shape[-2] - 1)  # Tensor.var takes three times as long
    scale = variance.sqrt().clamp(min=LEAST_SCALE)
    return tuple(F.pad((each - mean) / scale, (0, 1), value=1.0) for each in (x, *more))


def _fitted(x: Tensor, label: Tensor, x_tested: Tensor, known: int) -> Tensor:
    """Fit B regressions on x (B, n, F); return the logits (B, m) of the tested pairs (B, m, F)."""
    x, x_tested = standardised(x, x_tested)
    (beta,) = path(x, label, balanced(label).unsqueeze(0), [RIDGE], light=known)
    return (x_tested @ beta.unsqueeze(2)).squeeze(2)


def _log_loss(logit: Tensor, label: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(logit, label.expand_as(logit), reduction="none")
