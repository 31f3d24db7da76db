"""Calibration: from scores to probabilities, in each target, fitted to hold among the pairs with the highest scores.

Of the unknown pairs above a score, the share that are links is P(score | link) x number of unknown links / number of
unknown pairs above the score. Validation edges show the first factor, a prior says the second, and the third is
counted; so validation edges are compared with all unknown pairs, links among them included, of which a weighted sample
stands for all. A target has few validation edges, so all targets share one curve, from which each deviates as far as
its edges ask for.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch

from banditplex.arrays import Bools, Floats, Ints
from banditplex.nn.known import Known, look_up
from banditplex.pairs.unknown import UnknownPairs
from banditplex.prediction import Calibration, segments
from banditplex.training.data import TrainingData
from banditplex.training.priors import fit_with_priors, logistic_loss

PAIRS, MOST, LEAST = 100_000, 20_000, 100
"""Unknown pairs that are scored: of all targets and members, and of one target by a member at most and at least."""
KNOTS = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Between these quantiles of the validation edges' scores, and beyond them, the curve has slopes of its own."""
SPREAD = 0.5
"""Standard deviation, a priori, of a target's bias and logarithm of slope around those shared by all targets."""
BEND = 1.0  # standard deviation, a priori, of the logarithm of the ratio between neighbouring slopes
GROUPS = 24  # unknown pairs beyond this rank are treated in groups of neighbouring ranks: the lower, the larger
MANY = 1 << 16  # if there are more links than this, they are treated in groups as well


class Scored(NamedTuple):
    """Scores of pairs."""

    instance: Ints  # (n,) which target
    score: Floats  # (n,)
    weight: Floats  # (n,) how many pairs each stands for

    def take(self, at: Bools) -> "Scored":
        """Return the pairs at some places."""
        return Scored(self.instance[at], self.score[at], self.weight[at])


class HeldOut(NamedTuple):
    """Scores of validation edges and of unknown pairs, with what is needed to weigh them."""

    links: Scored
    unknown: Scored
    density: Floats  # (T,) of links among all pairs of each target

    def take(self, links: Bools, unknown: Bools) -> "HeldOut":
        """Return some of the links and of the unknown pairs."""
        return HeldOut(self.links.take(links), self.unknown.take(unknown), self.density)

    def shares(self) -> Floats:
        """Return the factors (T,) that bring unknown pairs to their real proportion to the validation edges."""
        density = np.clip(self.density, 1e-12, 1 - 1e-12)
        count, total = (np.bincount(each.instance, each.weight, len(density)) for each in self[:2])
        share: Floats = count / np.maximum(total, 1e-300) * (1 - density) / density
        return share


class MemberModel(Protocol):
    """What scores pairs on the graph of a member, without its validation edges: its network, regressions or vectors."""

    def logits_of_targets(self, pairs: Ints, instance: Ints, known: Known) -> Floats:
        """Return the logits (n,) of pairs (n, 2) in the targets number (n,), given what is known of them."""
        ...


class Sample(NamedTuple):
    """Unknown pairs of the targets of a member."""

    instance: Ints  # (n,) which target
    pairs: Ints  # (n, 2)
    weight: Floats  # (n,) how many pairs each stands for


class HeldOutPairs(NamedTuple):
    """The validation edges of each member, of which there must be some, and a sample of the unknown pairs."""

    asked: list["Asked"]  # of each member
    density: Floats  # (T,) of links among all pairs of each target

    @classmethod
    def draw(cls, members: Sequence[TrainingData], rng: np.random.Generator) -> "HeldOutPairs":
        """Draw the unknown pairs, and look up all pairs, once for all that scores them."""
        unknown, density = sample_unknown(members, rng)
        return cls([Asked.of(*each) for each in zip(members, unknown, strict=True)], density)

    def score(self, models: Sequence[MemberModel]) -> HeldOut:
        """Return the scores that each member's pairs get from its model."""
        scored = [asked.score(model) for asked, model in zip(self.asked, models, strict=True)]
        links, unknown = (
            Scored(*(np.concatenate(each) for each in zip(*part, strict=True))) for part in zip(*scored, strict=True)
        )
        return HeldOut(links, unknown, self.density)


def sample_unknown(every: Sequence[TrainingData], rng: np.random.Generator) -> tuple[list[Sample], Floats]:
    """Return unknown pairs of the targets, a sample for each member, and the density (T,) of links in each target."""
    data, mx, samples = every[0], every[0].full_mx, []
    known, negatives = data.visibility.negative_pairs(mx), data.visibility.negative_sampler(mx)
    size = int(np.clip(PAIRS // (len(data.targets) * len(every)), LEAST, MOST))
    for each in every:
        having = np.unique(each.validation_edges.instance)  # others say nothing: what all share holds for them
        which, pairs, weight = UnknownPairs(each.train_mx, known, negatives).sample(data.targets[having], size, rng)
        samples.append(Sample(having[which], pairs, weight))
    links = mx.layer_sizes[data.targets]
    return samples, links / (links + known.num_free()[data.targets])


class Asked(NamedTuple):
    """The validation edges of a member, then its unknown pairs; each process scores those of its targets."""

    data: TrainingData
    unknown: Sample
    instance: Ints  # (n,) which target
    pairs: Ints  # (n, 2)
    here: Ints  # which of them this process scores
    known: Known  # of those pairs

    @classmethod
    def of(cls, data: TrainingData, unknown: Sample) -> "Asked":
        """Look up the pairs of a member."""
        edges = data.validation_edges
        instance = np.concatenate([edges.instance, unknown.instance])
        pairs = np.concatenate([edges.pairs, unknown.pairs])
        if not data.full_mx.directed:
            pairs = np.sort(pairs, axis=1)
        here = np.arange(len(instance)) if data.mine is None else np.flatnonzero(data.mine[instance])
        asked, target = (torch.from_numpy(each[here]).to(data.device) for each in (pairs, data.targets[instance]))
        return cls(data, unknown, instance, pairs, here, look_up(data.train_view, asked, target))

    def score(self, model: MemberModel) -> tuple[Scored, Scored]:
        """Return the scores of all validation edges and of unknown pairs."""
        edges, at = self.data.validation_edges, torch.from_numpy(self.here)
        own = torch.from_numpy(model.logits_of_targets(self.pairs[self.here], self.instance[self.here], self.known))
        found = self.data.group.put_together(own, at, len(self.pairs)).numpy()
        links = Scored(edges.instance, found[: len(edges)], np.ones(len(edges)))
        return links, Scored(self.unknown.instance, found[len(edges) :], self.unknown.weight)


def fit(links: Scored, unknown: Scored, density: Floats) -> Calibration:
    """Fit a calibration to scores of links and of unknown pairs, at the density (T,) of links in each target.

    It maximises the likelihood of being a validation edge among these and the unknown pairs, with normal priors on the
    logarithms of slopes (around 0, then around the one before), on those of factors and on biases (around 0).
    """
    num_targets, density = len(density), np.clip(density, 1e-12, 1 - 1e-12)
    if not len(links.score) or not len(unknown.score):
        return Calibration.scaled(num_targets)
    knots = np.quantile(links.score, KNOTS)
    unknown = grouped(unknown)
    if len(links.score) > MANY:
        links = grouped(links)
    share, num_slopes = HeldOut(links, unknown, density).shares(), len(KNOTS) + 1
    instance = np.concatenate([links.instance, unknown.instance])
    weight = np.concatenate([links.weight, unknown.weight * share[unknown.instance]])
    sign = np.repeat([1.0, -1.0], [len(links.score), len(unknown.score)])
    parts = segments(np.concatenate([links.score, unknown.score]), knots)
    odds = np.log(density / (1 - density))[instance]
    spread = np.concatenate([[1.0], np.full(len(KNOTS), BEND), [10.0], np.full(2 * num_targets, SPREAD)])
    bounds = np.cumsum([num_slopes, 1, num_targets])

    def loss(beta: Floats) -> tuple[float, Floats]:
        """Return the loss, and its gradient, of the logarithms of slopes, the bias, each target's factor and bias."""
        steps, bias, factors, biases = np.split(beta, bounds)
        slopes, factor = np.exp(np.cumsum(steps)), np.exp(factors)[instance]
        curve = parts @ slopes
        value, slope = logistic_loss(sign * (factor * curve + bias + biases[instance] + odds))
        by_logit = -sign * weight * slope
        by_slope = slopes * (parts.T @ (factor * by_logit))
        of_target = (np.bincount(instance, each, num_targets) for each in (factor * curve * by_logit, by_logit))
        gradient = np.concatenate([np.cumsum(by_slope[::-1])[::-1], [by_logit.sum()], *of_target])
        return float(weight @ value), gradient

    edges = np.bincount(links.instance, links.weight, num_targets)
    count = np.concatenate([np.full(num_slopes + 1, edges.sum()), edges, edges])
    limit = np.where(np.arange(len(spread)) < num_slopes, 4.0, 20.0)
    found = fit_with_priors(loss, np.zeros(len(spread)), spread**-2, count, (-limit, limit))
    steps, bias, factors, biases = np.split(found, bounds)
    most = density / (1 - density)
    return Calibration(knots, np.exp(np.cumsum(steps)), np.exp(factors), bias + biases, most)


def grouped(scored: Scored) -> Scored:
    """Return mean scores of groups of pairs with neighbouring ranks in their target; the highest stay on their own."""
    order = np.lexsort((-scored.score, scored.instance))
    instance, values, weight = scored.instance[order], scored.score[order], scored.weight[order]
    rank = np.arange(len(order)) - np.searchsorted(instance, instance)
    group = np.floor(2 * GROUPS * np.log1p(rank / GROUPS)).astype(np.int64)
    _, first, which = np.unique(instance * (group.max() + 1) + group, return_index=True, return_inverse=True)
    total = np.bincount(which, weight).astype(np.float64)
    return Scored(instance[first], np.bincount(which, weight * values) / total, total)
