"""How much networks, regressions and rotations count: as much as validation edges say, which none of them has seen.

This is stacking (Wolpert, Neural Networks, 1992). It is for a small multiplex, whose networks are several.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from banditplex.nn.beside import Beside
from banditplex.nn.regression import Regression
from banditplex.nn.rotations import Rotations
from banditplex.training.calibration import SPREAD, HeldOut, Scored
from banditplex.training.data import TrainingData
from banditplex.training.regression import large_targets

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
FOLDS = 4
"""Parts of the held-out pairs; the scores of each have factors that were fitted to the others."""


def stack(
    parts: Sequence[HeldOut], regression: Regression | None, rotations: Rotations | None, every: Sequence[TrainingData]
) -> tuple[Beside | None, HeldOut]:
    """Return what to put beside the mean of the networks, with its factors, and the scores of all together.

    Factors that were fitted to these pairs would make them look too good, so scores have those of other folds.

    `parts` are the scores of the same pairs by networks, regression and rotations, as far as there are any.
    """
    if regression is None and rotations is None:
        return None, parts[0]
    targets = torch.from_numpy(every[0].targets).to(every[0].device)
    large = reduce(np.intersect1d, [large_targets(data) for data in every])
    factors = weigh(parts, large)
    shares = [torch.from_numpy(each).float().to(targets.device) for each in factors]
    if not shares[-1].any():
        rotations = None  # they count nothing, and are many numbers
    if regression is None and rotations is None:
        return None, parts[0]
    beside = Beside(every[0].full_mx.num_layers, regression, rotations).to(targets.device)
    beside.factor[targets] = shares[0]
    if regression is not None:
        regression.scale(targets, shares[1])
    if rotations is not None:
        rotations.factor[targets] = shares[-1]
    return beside, out_of_fold(parts, large)


def weigh(parts: Sequence[HeldOut], instances: Ints) -> Floats:
    """Return the factors (P, T), 0 or above, with which P parts predict validation edges best together.

    All parts have scored the same pairs. Unknown pairs weigh as much as the edges, in each target of `instances`, which
    have the same factors. A priori the first part counts 1 and the others 0, with a standard deviation of `SPREAD`; so
    it is in other targets.
    """
    from scipy.optimize import minimize  # takes long to import; predictions do without

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


def out_of_fold(parts: Sequence[HeldOut], instances: Ints) -> HeldOut:
    """Return the scores of all parts together, of each pair with factors that were fitted to other folds."""
    links, unknown = fold = [np.arange(len(each.score)) % FOLDS for each in parts[0][:2]]
    scores = [np.empty(len(each)) for each in fold]
    for number in range(FOLDS):
        factors = weigh([each.take(links != number, unknown != number) for each in parts], instances)
        found = add_up([each.take(links == number, unknown == number) for each in parts], factors)
        for score, of, part in zip(scores, fold, found[:2], strict=True):
            score[of == number] = part.score
    first, (of_links, of_unknown) = parts[0], scores
    return HeldOut(first.links._replace(score=of_links), first.unknown._replace(score=of_unknown), first.density)


def add_up(parts: Sequence[HeldOut], factors: Floats) -> HeldOut:
    """Return the sum of the scores of parts, each times its factors (P, T)."""

    def total(scored: Sequence[Scored]) -> Scored:
        of = scored[0].instance
        return scored[0]._replace(score=sum(f[of] * each.score for f, each in zip(factors, scored, strict=True)))

    return parts[0]._replace(
        links=total([each.links for each in parts]), unknown=total([each.unknown for each in parts])
    )
