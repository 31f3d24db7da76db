"""Logistic regressions beside the networks: one for each target or, in a large multiplex, one for all of them.

Weights that targets share save a network from learning by heart, but on some data each target has its own way. A
regression with a penalty chosen by cross-validation finds it from few edges. `stacking` says how much it counts.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Floats, Ints
from banditplex.backend.compiling import map_on_cpu
from banditplex.nn import MultiplexModel
from banditplex.nn.known import Known
from banditplex.nn.query import Query
from banditplex.nn.regression import Columns, Regression, columns
from banditplex.nn.spectral import SPECTRAL_FOLDS, fold_of
from banditplex.rng import stream
from banditplex.training.data import MOST_EXAMPLES, TrainingData
from banditplex.training.logistic import fit

if TYPE_CHECKING:
    from banditplex.training.loop import Trainer

LEAST, MOST = 30, 2_000  # edges of a target: with fewer it has no regression, and not more are fitted
SHARED = 25_000  # edges of all targets: not more are fitted by one regression that they share
NEGATIVES = 3  # negatives per edge; all negatives together weigh as much as the edges
PENALTIES = (1000.0, 100.0, 10.0, 1.0)  # penalties on squared weights of standardised columns, in pairs, that are tried


class Used(NamedTuple):
    """The other layers that predictions in each target use."""

    layers: Ints  # (T, m), the most probable first
    counts: Ints  # (T,): how many of them

    @classmethod
    def all_of(cls, layers: Ints) -> "Used":
        """Use all layers (T, m)."""
        return cls(layers, np.full(len(layers), layers.shape[1], np.int64))

    @property
    def table(self) -> Ints:
        """The layers (T, most), with -1 where a target uses fewer."""
        most = int(self.counts.max(initial=0))
        return np.where(np.arange(most) < self.counts[:, None], self.layers[:, :most], -1)


@dataclass(frozen=True, eq=False)
class MemberRegression:
    """The regressions of a member; `logits_of_targets` scores pairs as a network does."""

    model: MultiplexModel  # the member's network, which says what columns there are
    data: TrainingData
    table: Tensor  # (T, m): the other layers that targets look at; -1: none
    regression: Regression

    @classmethod
    def fit(cls, model: MultiplexModel, data: TrainingData, used: Used, seed: int) -> "MemberRegression":
        """Fit a regression to the training edges of each target."""
        table = torch.from_numpy(used.table).to(data.device)
        regression = Regression.like(model, table.shape[1]).to(data.device)
        regression.layers[torch.from_numpy(data.targets).to(data.device)] = table
        member = cls(model, data, table, regression)
        samples = {place: _sample(data, place, seed) for place in large_targets(data).tolist()}
        pairs = np.concatenate([np.empty((0, 2), np.int64), *(pairs for pairs, _ in samples.values())])
        size = [len(label) for _, label in samples.values()]
        seen = member._columns(pairs, np.repeat(np.array(list(samples), np.int64), size))
        parts = dict(zip(samples, zip(*(torch.split(each, size) for each in seen), strict=True), strict=True))
        longest_first = sorted(samples, key=lambda place: -len(samples[place][1]))

        def fit_one(place: int) -> tuple[Tensor, Tensor]:
            return fit_target(Columns(*parts[place]), *samples[place], data.full_mx.num_nodes)

        for place, (own, other) in zip(longest_first, map_on_cpu(fit_one, longest_first, data.device), strict=True):
            target = int(data.targets[place])
            regression.own[target], regression.other[target] = own.to(data.device), other.to(data.device)
        return member

    @classmethod
    def fit_shared(cls, model: MultiplexModel, data: TrainingData, used: Used, seed: int) -> "MemberRegression":
        """Fit one regression to training edges of all targets; it looks at none of the layers that they use."""
        regression = Regression.like(model, used.table.shape[1]).to(data.device)
        member = cls(model, data, torch.empty(len(data.targets), 0).long().to(data.device), regression)
        rng, every = stream(seed, "regression"), data.train_edges.to_host()
        chosen = np.sort(rng.permutation(len(every))[:SHARED])
        instance = every.instance[chosen]
        pairs, label = _with_negatives(data, every.pairs[chosen], data.targets[instance], rng)
        instance = np.tile(instance, 1 + NEGATIVES)
        own, _ = fit_target(member._columns(pairs, instance), pairs, label, data.full_mx.num_nodes)
        regression.own[torch.from_numpy(data.targets).to(data.device)] = own.to(data.device)
        return member

    def logits_of_targets(self, pairs: Ints, instance: Ints, known: Known | None = None) -> Floats:
        """Return the logits (n,) of pairs (n, 2) in the targets number (n,), on the graph without validation edges."""
        seen = self._columns(pairs if self.data.full_mx.directed else np.sort(pairs, axis=1), instance, known)
        target, layers = self._places(instance)
        own, other = self.regression(seen, target, layers)
        return (own + other.sum(1)).cpu().numpy().astype(np.float64)

    def _places(self, instance: Ints) -> tuple[Tensor, Tensor]:
        """Return target layers (n,) and the other layers that they look at (n, m), -1 for none."""
        at = torch.from_numpy(np.ascontiguousarray(instance)).to(self.data.device)
        return torch.from_numpy(self.data.targets).to(at.device)[at], self.table[at]

    def _columns(self, pairs: Ints, instance: Ints, known: Known | None = None) -> Columns:
        target, layers = self._places(instance)
        asked = torch.from_numpy(np.ascontiguousarray(pairs)).to(target.device)
        seen = columns(self.model, self.data.train_view, Query(asked, target, layers.clamp(min=0), known))
        return Columns(seen.own, seen.other * (layers >= 0).unsqueeze(2))


def fit_regressions(trainers: Sequence["Trainer"], used: Used) -> list[MemberRegression]:
    """Fit the regressions of each target beside several networks; beside a single one, one that targets share."""
    if len(trainers) == 1 and trainers[0].data.num_examples > MOST_EXAMPLES:
        return []
    fitted = MemberRegression.fit if len(trainers) > 1 else MemberRegression.fit_shared
    return [fitted(each.ema_model, each.data, used, each.config.seed) for each in trainers]


def large_targets(data: TrainingData) -> Ints:
    """Return which targets have enough edges for a regression."""
    return np.flatnonzero(data.train_edges.size >= LEAST)


def mean_of(fits: Sequence[MemberRegression]) -> Regression:
    """Return the mean of the members' regressions: as they are linear, it is one regression."""
    every = [each.regression for each in fits]
    mean = copy.deepcopy(every[0])
    mean.own, mean.other = (torch.stack([getattr(each, name) for each in every]).mean(0) for name in ("own", "other"))
    return mean


def _sample(data: TrainingData, instance: int, seed: int) -> tuple[Ints, Ints]:
    """Return edges and negatives of a target (n, 2), and their labels (n,)."""
    target = int(data.targets[instance])
    rng, edges = stream(seed, "regression", target), data.train_edges.of(instance)
    edges = edges if len(edges) <= MOST else edges[rng.permutation(len(edges))[:MOST]]
    return _with_negatives(data, edges, np.full(len(edges), target), rng)


def _with_negatives(data: TrainingData, edges: Ints, targets: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return edges (n, 2) in target layers (n,) with negatives of the same layers behind them, and labels."""
    negatives = data.negatives.draw(np.tile(targets, NEGATIVES), rng)
    return np.concatenate([edges, negatives]), np.repeat([1, 0], [len(edges), len(negatives)])


def fit_target(seen: Columns, pairs: Ints, label: Ints, num_nodes: int) -> tuple[Tensor, Tensor]:
    """Return the weights (F + 1,) and (m, G) of the regression of a target, with the penalty that predicts best.

    Pairs of the same two nodes are in the same fold of the cross-validation.
    """
    x, size = torch.cat([seen.own, seen.other.flatten(1)], 1), seen.own.shape[1]
    fold = fold_of(torch.from_numpy(pairs).to(x.device), num_nodes)
    raw, constant = fit(x, torch.from_numpy(label).to(x.device), fold, PENALTIES, num_folds=SPECTRAL_FOLDS)
    own = torch.cat([raw[:size], constant.unsqueeze(0)])
    return own.float().cpu(), raw[size:].view(seen.other.shape[1:]).float().cpu()
