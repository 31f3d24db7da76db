"""How much networks, regressions and rotations count: as much as validation edges say, which none of them has seen.

This is stacking (Wolpert, Neural Networks, 1992). It is for a small multiplex, whose networks are several.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from banditplex.nn.beside import Beside
from banditplex.training.calibration import SPREAD, HeldOut, Scored
from banditplex.training.loop import Trainer
from banditplex.training.regression import MemberRegression, Used, large_targets, mean_of
from banditplex.training.rotations import MemberRotations, can_learn, learn_all

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class MemberModel(Protocol):
    """What scores pairs on the graph of a member, without its validation edges."""

    def logits_of_targets(self, pairs: Ints, instance: Ints) -> Floats:
        """Return the logits (n,) of pairs (n, 2) in the targets number (n,)."""
        ...


def put_beside(
    networks: HeldOut, trainers: Sequence[Trainer], used: Used, score: Callable[[Sequence[MemberModel]], HeldOut]
) -> tuple[Beside | None, HeldOut]:
    """Return what to put beside the mean of the networks, and the scores of all together.

    `networks` are the scores of held-out pairs by the members' networks; `score` returns those by other models of the
    members, which look at the other layers that are `used`.
    """
    config, every = trainers[0].config, [trainer.data for trainer in trainers]
    parts, regression, rotations = [networks], None, None
    if config.regression:
        fits = [MemberRegression.fit(each.ema_model, each.data, used, each.config.seed) for each in trainers]
        regression = mean_of(fits)
        parts.append(score(fits))
    if config.rotations and can_learn(every[0]):
        rotations = learn_all(every, config.seed)
        parts.append(score([MemberRotations(rotations, number, data) for number, data in enumerate(every)]))
    targets = torch.from_numpy(every[0].targets).to(every[0].device)
    factors = weigh(parts, reduce(np.intersect1d, [large_targets(data) for data in every]))
    shares = [torch.from_numpy(each).float().to(targets.device) for each in factors]
    if not shares[-1].any():
        rotations = None  # they count nothing, and are many numbers
    if regression is None and rotations is None:
        return None, networks
    beside = Beside(every[0].full_mx.num_layers, regression, rotations).to(targets.device)
    beside.factor[targets] = shares[0]
    if regression is not None:
        regression.scale(targets, shares[1])
    if rotations is not None:
        rotations.factor[targets] = shares[-1]
    return beside, add_up(parts, factors)


def weigh(parts: Sequence[HeldOut], instances: Ints) -> Floats:
    """Return the factors (P, T), 0 or above, with which P parts predict validation edges best together.

    All parts have scored the same pairs. Unknown pairs weigh as much as the edges, in each target of `instances`, which
    have the same factors. A priori the first part counts 1 and the others 0, with a standard deviation of `SPREAD`; so
    it is in other targets.
    """
    first, share = parts[0], parts[0].balance()
    scores, weight, sign = [], [], []
    for of, factor, way in (("links", np.ones_like(share), 1.0), ("unknown", share, -1.0)):
        same: Scored = getattr(first, of)
        at = np.isin(same.instance, instances)
        scores.append(np.stack([*(getattr(each, of).score for each in parts), np.ones(len(at))], 1)[at])
        weight.append((same.weight * factor[same.instance])[at])
        sign.append(np.full(int(at.sum()), way))
    x, w, s = np.concatenate(scores), np.concatenate(weight), np.concatenate(sign)
    centre = np.eye(1, x.shape[1])[0]
    precision = np.append(np.full(len(parts), SPREAD**-2), 0)

    def loss(beta: Floats) -> tuple[float, Floats]:
        margin, off = s * (x @ beta), beta - centre
        value = w @ np.logaddexp(0, -margin) + 0.5 * precision @ off**2
        return float(value), x.T @ (-s * w * expit(-margin)) + precision * off

    limits = [(0, None)] * len(parts) + [(None, None)]
    found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=limits).x[:-1]
    factors = np.repeat(centre[:-1, None], len(share), 1)
    factors[:, instances] = found[:, None]
    return factors


def add_up(parts: Sequence[HeldOut], factors: Floats) -> HeldOut:
    """Return the sum of the scores of parts, each times its factors (P, T)."""

    def total(scored: Sequence[Scored]) -> Scored:
        of = scored[0].instance
        return scored[0]._replace(score=sum(f[of] * each.score for f, each in zip(factors, scored, strict=True)))

    return parts[0]._replace(
        links=total([each.links for each in parts]), unknown=total([each.unknown for each in parts])
    )
