"""How much networks, regressions and vectors count: as much as validation edges say, which none of them has seen.

This is stacking (Wolpert, Neural Networks, 1992). All targets have the same factors.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from banditplex.nn.ensemble import Beside
from banditplex.nn.regression import Regression
from banditplex.nn.vectors import Vectors
from banditplex.training.calibration import SPREAD, HeldOut, Scored
from banditplex.training.data import TrainingData

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
STACKING_FOLDS = 4
"""Parts of the held-out pairs; the scores of each have factors that were fitted to the others."""


def stack(
    parts: Sequence[HeldOut], regression: Regression | None, vectors: Vectors | None, every: Sequence[TrainingData]
) -> tuple[Beside | None, HeldOut]:
    """Return what to put beside the mean of the networks, with its factors, and the scores of all together.

    Factors that were fitted to these pairs would make them look too good, so scores have those of other folds.
    `parts` are the scores of the same pairs by networks, regression and vectors, as far as there are any.
    """
    if regression is None and vectors is None:
        return None, parts[0]
    targets = torch.from_numpy(every[0].targets).to(every[0].device)
    factors = weigh(parts)
    if not factors[-1]:
        vectors = None  # they count nothing, and are many numbers
    if regression is None and vectors is None:
        return None, parts[0]
    beside = Beside(every[0].full_mx.num_layers, regression, vectors).to(targets.device)
    beside.factor[targets] = float(factors[0])
    if regression is not None:
        regression.scale(targets, torch.full_like(targets, float(factors[1]), dtype=torch.float32))
    if vectors is not None:
        vectors.factor[targets] = float(factors[-1])
    return beside, out_of_fold(parts)


def weigh(parts: Sequence[HeldOut]) -> Floats:
    """Return the factors (P,), 0 or above, with which P parts predict validation edges best together.

    All parts have scored the same pairs. Unknown pairs weigh as much as the edges in each target. A priori the first
    part counts 1 and the others 0, with a standard deviation of `SPREAD`.
    """
    from scipy.optimize import minimize  # takes long to import; predictions do without

    first, share = parts[0], parts[0].balance()
    scores, weight, sign = [], [], []
    for of, factor, way in (("links", np.ones_like(share), 1.0), ("unknown", share, -1.0)):
        same: Scored = getattr(first, of)
        scores.append(np.stack([*(getattr(each, of).score for each in parts), np.ones(len(same.score))], 1))
        weight.append(same.weight * factor[same.instance])
        sign.append(np.full(len(same.score), way))
    x, w, s = np.concatenate(scores), np.concatenate(weight), np.concatenate(sign)
    centre = np.eye(1, x.shape[1])[0]
    precision = np.append(np.full(len(parts), SPREAD**-2), 0)

    def loss(beta: Floats) -> tuple[float, Floats]:
        margin, off = s * (x @ beta), beta - centre
        value = w @ np.logaddexp(0, -margin) + 0.5 * precision @ off**2
        return float(value), x.T @ (-s * w * expit(-margin)) + precision * off

    limits = [(0, None)] * len(parts) + [(None, None)]
    found: Floats = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=limits).x[:-1]
    return found


def out_of_fold(parts: Sequence[HeldOut]) -> HeldOut:
    """Return the scores of all parts together, of each pair with factors that were fitted to other folds."""
    links, unknown = fold = [np.arange(len(each.score)) % STACKING_FOLDS for each in parts[0][:2]]
    scores = [np.empty(len(each)) for each in fold]
    for number in range(STACKING_FOLDS):
        factors = weigh([each.take(links != number, unknown != number) for each in parts])
        found = add_up([each.take(links == number, unknown == number) for each in parts], factors)
        for score, of, part in zip(scores, fold, found[:2], strict=True):
            score[of == number] = part.score
    first, (of_links, of_unknown) = parts[0], scores
    return HeldOut(first.links._replace(score=of_links), first.unknown._replace(score=of_unknown), first.density)


def add_up(parts: Sequence[HeldOut], factors: Floats) -> HeldOut:
    """Return the sum of the scores of parts, each times its factor (P,)."""

    def total(scored: Sequence[Scored]) -> Scored:
        return scored[0]._replace(score=sum(f * each.score for f, each in zip(factors, scored, strict=True)))

    return parts[0]._replace(
        links=total([each.links for each in parts]), unknown=total([each.unknown for each in parts])
    )
