"""Calibration: from scores to probabilities, in each target, fitted to hold among the pairs with the highest scores.

Validation edges are compared with unknown pairs, of which a weighted sample stands for all, in their real proportion. A
target has few validation edges, so all targets share one curve, from which each deviates as far as its edges ask for.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from banditplex.pairs.unknown import UnknownPairs
from banditplex.prediction import Calibration
from banditplex.training.data import TrainingData

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
PAIRS, MOST, LEAST = 200_000, 20_000, 100
"""Unknown pairs that are scored: of all targets, and of one target at most and at least."""
UNKNOWN_SHARE = 0.2
"""Share of all links that are taken to be among the unknown pairs: every fifth."""
SPREAD = 0.5
"""Standard deviation, a priori, of a target's bias and logarithm of slope around those shared by all targets."""
BEND = 0.5
"""Standard deviation, a priori, of the logarithm of the ratio between the slopes of high and of low scores."""
GROUPS = 24
"""Unknown pairs beyond this rank are treated in groups of neighbouring ranks: the lower, the larger."""
STEPS, ENOUGH = 100, 1e-10
"""Steps of the fit at most, and the share of the loss that a step must promise to be followed by another one."""
MANY = 1 << 16
"""If there are more links than this, they are treated in groups as well."""


class Scored(NamedTuple):
    """Scores of pairs."""

    instance: Ints  # (n,) which target
    score: Floats  # (n,)
    weight: Floats  # (n,) how many pairs each stands for


class HeldOut(NamedTuple):
    """Scores of validation edges and of unknown pairs, with what is needed to weigh them."""

    links: Scored
    unknown: Scored
    density: Floats  # (T,) of links among all pairs of each target

    def shares(self) -> Floats:
        """Return the factors (T,) that bring unknown pairs to their real proportion to the validation edges."""
        density = np.clip(self.density, 1e-12, 1 - 1e-12)
        share: Floats = self.balance() * (1 - density) / density
        return share

    def balance(self) -> Floats:
        """Return the factors (T,) that let the unknown pairs of a target weigh as much as its validation edges."""
        count, total = (np.bincount(each.instance, each.weight, len(self.density)) for each in self[:2])
        factor: Floats = count / np.maximum(total, 1e-300)
        return factor


class MemberModel(Protocol):
    """What scores pairs on the graph of a member, without its validation edges: its network, regressions or vectors."""

    def logits_of_targets(self, pairs: Ints, instance: Ints) -> Floats:
        """Return the logits (n,) of pairs (n, 2) in the targets number (n,)."""
        ...


class Sample(NamedTuple):
    """Unknown pairs of the targets of a member."""

    instance: Ints  # (n,) which target
    pairs: Ints  # (n, 2)
    weight: Floats  # (n,) how many pairs each stands for


class HeldOutPairs(NamedTuple):
    """The validation edges of each member, of which there must be some, and a sample of the unknown pairs."""

    members: Sequence[TrainingData]
    unknown: Sequence[Sample]  # one for each member
    density: Floats  # (T,) of links among all pairs of each target

    @classmethod
    def draw(cls, members: Sequence[TrainingData], rng: np.random.Generator) -> "HeldOutPairs":
        """Draw the unknown pairs."""
        return cls(members, *sample_unknown(members, rng))

    def score(self, models: Sequence[MemberModel]) -> HeldOut:
        """Return the scores that each member's pairs get from its model."""
        scored = [score_pairs(*each) for each in zip(self.members, models, self.unknown, strict=True)]
        links, unknown = (
            Scored(*(np.concatenate(each) for each in zip(*part, strict=True))) for part in zip(*scored, strict=True)
        )
        return HeldOut(links, unknown, self.density)


def sample_unknown(every: Sequence[TrainingData], rng: np.random.Generator) -> tuple[list[Sample], Floats]:
    """Return unknown pairs of the targets, a sample for each member, and the density (T,) of links in each target."""
    data, mx, samples = every[0], every[0].full_mx, []
    known, negatives = data.visibility.negative_pairs(mx), data.visibility.negative_sampler(mx)
    size = int(np.clip(PAIRS // len(data.targets), LEAST, MOST))
    for each in every:
        having = np.unique(each.validation_edges.instance)  # others say nothing: what all share holds for them
        which, pairs, weight = UnknownPairs(each.train_mx, known, negatives).sample(data.targets[having], size, rng)
        samples.append(Sample(having[which], pairs, weight))
    links = mx.layer_sizes[data.targets]
    return samples, links / (links + known.num_free()[data.targets])


def score_pairs(data: TrainingData, model: MemberModel, unknown: Sample) -> tuple[Scored, Scored]:
    """Return the scores of all validation edges and of unknown pairs; each process scores those of its targets."""
    edges = data.validation_edges
    instance, pairs = np.concatenate([edges.instance, unknown.instance]), np.concatenate([edges.pairs, unknown.pairs])
    here = np.arange(len(instance)) if data.mine is None else np.flatnonzero(data.mine[instance])
    found = model.logits_of_targets(pairs[here], instance[here])
    if data.mine is not None:
        found = data.group.put_together(torch.from_numpy(found), torch.from_numpy(here), len(instance)).numpy()
    links = Scored(edges.instance, found[: len(edges)], np.ones(len(edges)))
    return links, Scored(unknown.instance, found[len(edges) :], unknown.weight)


def fit(links: Scored, unknown: Scored, density: Floats, unknown_share: float = UNKNOWN_SHARE) -> Calibration:
    """Fit a calibration to scores of links and of unknown pairs, at the density (T,) of links in each target.

    It maximises the likelihood of being a validation edge among these and the unknown pairs, some of which are links,
    too: of the density of links, unknown_share / (1 - unknown_share); with normal priors on slopes (around 1) and
    biases (around 0).
    """
    num_targets, density = len(density), np.clip(density, 1e-12, 1 - 1e-12)
    if not len(links.score) or not len(unknown.score):
        return Calibration.scaled(num_targets)
    knot = float(np.median(links.score))
    unknown = grouped(unknown)
    if len(links.score) > MANY:
        links = grouped(links)
    share = HeldOut(links, unknown, density).shares()
    instance = np.concatenate([links.instance, unknown.instance])
    weight = np.concatenate([links.weight, (unknown.weight * share[unknown.instance])])
    sign = np.repeat([1.0, -1.0], [len(links.score), len(unknown.score)])
    scores = np.concatenate([links.score, unknown.score])
    above = np.logaddexp(0, scores - knot)
    below = scores - above
    odds = np.log(density / (1 - density))[instance]
    hidden = np.clip(unknown_share / (1 - unknown_share) * density, 1e-300, 0.5)[instance]
    log_hidden, log_rest = np.log(hidden), np.log1p(-hidden)
    precision = np.concatenate([[1.0, BEND**-2, 0.01], np.full(2 * num_targets, SPREAD**-2)])

    def loss(x: Floats) -> Quadratic:
        """Approximate the loss around slopes (2), bias, then each target's factor and bias."""
        factor = np.exp(x[3 : 3 + num_targets])[instance]
        high = np.exp(x[0] + x[1]) * factor * above
        grows = np.exp(x[0]) * factor * below + high  # the derivative of the ratio by the logarithm of a slope
        ratio = grows + x[2] + x[3 + num_targets :][instance]
        mixed = np.logaddexp(log_hidden + ratio, log_rest)  # unknown pairs: links among them, and the rest
        logit, rest = ratio - mixed + odds, np.exp(log_rest - mixed)
        wrong = expit(-sign * logit)
        slope, curvature = -sign * weight * wrong * rest, weight * wrong * (1 - wrong) * rest**2
        value = float(weight @ np.logaddexp(0, -sign * logit) + 0.5 * precision @ x**2)
        return Quadratic.of(value, slope, curvature, (grows, high), instance, precision, x)

    limit = np.concatenate([[4.0, 4.0, 20.0], np.full(num_targets, 4.0), np.full(num_targets, 20.0)])
    x = descend(loss, np.zeros(3 + 2 * num_targets), limit)
    factor = np.exp(x[3 : 3 + num_targets])
    return Calibration(np.exp(x[0]) * factor, np.exp(x[0] + x[1]) * factor, x[2] + x[3 + num_targets :], knot)


class Quadratic(NamedTuple):
    """The loss around a point: its value, its gradient, and a step to the minimum of a convex approximation."""

    value: float
    gradient: Floats
    step: Floats

    @classmethod
    def of(
        cls, value: float, slope: Floats, curvature: Floats, by: tuple[Floats, Floats], instance: Ints,
        precision: Floats, x: Floats,
    ) -> "Quadratic":  # fmt: skip
        """Approximate by Gauss and Newton, from slopes and curvatures (n,) of the rows' losses by their ratios.

        The ratio of a row changes by `by` with the logarithms of both slopes and of the upper one, and by 1 with the
        bias; it does so for what all targets share and for what is the row's own target's. So the matrix is an arrow: a
        block that all share, and one of size 2 for each target, which is eliminated first.
        """
        num_targets = (len(x) - 3) // 2
        grows, high = by

        def sums(values: Floats) -> Floats:
            found: Floats = np.bincount(instance, values, num_targets).astype(np.float64)
            return found

        g = np.stack([sums(slope * grows), sums(slope * high), sums(slope)], 1)  # (T, 3)
        gradient = np.concatenate([g.sum(0), g[:, 0], g[:, 2]]) + precision * x
        columns = grows, high, np.ones_like(grows)
        matrix = np.empty((num_targets, 3, 3))
        for i in range(3):
            for j in range(i + 1):
                matrix[:, i, j] = matrix[:, j, i] = sums(curvature * columns[i] * columns[j])
        shared = matrix.sum(0) + np.diag(precision[:3])
        across, own = matrix[:, :, [0, 2]], matrix[:, [0, 2]][:, :, [0, 2]]  # (T, 3, 2), (T, 2, 2)
        own = own + np.stack([precision[3 : 3 + num_targets], precision[3 + num_targets :]], 1)[:, :, None] * np.eye(2)
        of_target = np.stack([gradient[3 : 3 + num_targets], gradient[3 + num_targets :]], 1)
        solved = np.linalg.solve(
            own, np.concatenate([across.transpose(0, 2, 1), of_target[:, :, None]], 2)
        )  # (T, 2, 4)
        joint = shared - np.einsum("tij,tjk->ik", across, solved[:, :, :3])
        first = np.linalg.solve(joint, gradient[:3] - np.einsum("tij,tj->i", across, solved[:, :, 3]))
        rest = solved[:, :, 3] - solved[:, :, :3] @ first
        return cls(value, gradient, -np.concatenate([first, rest[:, 0], rest[:, 1]]))


def descend(loss: Callable[[Floats], Quadratic], x: Floats, limit: Floats) -> Floats:
    """Return the minimum of a loss between -limit and limit, from x: full steps, halved until the loss falls enough."""
    here = loss(x)
    for _ in range(STEPS):
        step = np.clip(here.step, -1, 1)  # far away, the approximation says little
        fall, share = -float(here.gradient @ step), 1.0
        while share > 1e-6:
            to = np.clip(x + share * step, -limit, limit)
            there = loss(to)
            if there.value <= here.value - 1e-4 * share * fall:
                break
            share /= 2
        else:
            return x
        x, here = to, there
        if fall < ENOUGH * (1 + abs(here.value)):
            return x
    return x


def grouped(scored: Scored) -> Scored:
    """Return mean scores of groups of pairs with neighbouring ranks in their target; the highest stay on their own."""
    order = np.lexsort((-scored.score, scored.instance))
    instance, values, weight = scored.instance[order], scored.score[order], scored.weight[order]
    rank = np.arange(len(order)) - np.searchsorted(instance, instance)
    group = np.floor(2 * GROUPS * np.log1p(rank / GROUPS)).astype(np.int64)
    _, first, which = np.unique(instance * (group.max() + 1) + group, return_index=True, return_inverse=True)
    total = np.bincount(which, weight).astype(np.float64)
    return Scored(instance[first], np.bincount(which, weight * values) / total, total)
