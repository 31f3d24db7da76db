"""How much networks, regressions and vectors count: as much as validation edges say, which none of them has seen.

This is stacking (Wolpert, Neural Networks, 1992). All targets have the same factors. Unknown pairs stand for all of
their target, so most of the loss is in those that look like links: at the top of the list, where users look. In a
knowledge graph, which is asked for the other end of an edge, factors are those of `training/rankings.py`.
"""

from collections.abc import Sequence

import numpy as np
import torch

from banditplex.arrays import Floats
from banditplex.nn.ensemble import Beside
from banditplex.nn.regression import Regression
from banditplex.nn.vectors import Vectors
from banditplex.training.calibration import SPREAD, HeldOut, Scored
from banditplex.training.data import TrainingData
from banditplex.training.priors import fit_with_priors, logistic_loss
from banditplex.training.rankings import Rankings

BIAS = 30.0  # standard deviation, a priori, of a target's bias
STACKING_FOLDS = 4  # parts of the held-out pairs; the scores of each have factors that were fitted to the others

LITTLE = 0.1  # share of what all scores spread by, below which long vectors are left out: they cost most of a fit


def stack(
    parts: Sequence[HeldOut], regression: Regression | None, vectors: Vectors | None, every: Sequence[TrainingData],
    rankings: Rankings | None = None,
) -> tuple[Beside | None, HeldOut]:  # fmt: skip
    """Return what to put beside the mean of the networks, with its factors, and the scores of all together.

    Factors that were fitted to these pairs would make them look too good, so scores have those of other folds.
    `parts` are the scores of the same pairs by networks, regression and vectors, as far as there are any; `rankings`
    are theirs, if these say how much they count.
    """
    if regression is None and vectors is None:
        return None, parts[0]
    targets = torch.from_numpy(every[0].targets).to(every[0].device)
    found = weigh(parts) if rankings is None else rankings.weigh()
    factors = found[: len(parts)]
    if vectors is not None and vectors.long:  # most of them are still to be learnt
        spread = factors * [part.links.score.std() for part in parts]
        if 0 < spread[-1] < LITTLE * spread.sum():
            return stack(parts[:-1], regression, None, every)
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
    return beside, out_of_fold(parts, found, rankings)


def weigh(parts: Sequence[HeldOut], start: Floats | None = None) -> Floats:
    """Return factors (P,), 0 or above, with which P parts predict validation edges best together; then biases (T,).

    All parts have scored the same pairs. Unknown pairs count in their real proportion to the edges, and each target has
    a bias. A priori the first part counts 1 and the others 0, with a standard deviation of `SPREAD`. The search begins
    at `start`, which was found for like pairs; None: at what holds a priori.
    """
    first, share, size = parts[0], parts[0].shares(), len(parts)
    scores, weight, sign, instance = [], [], [], []
    for of, factor, way in (("links", np.ones_like(share), 1.0), ("unknown", share, -1.0)):
        same: Scored = getattr(first, of)
        scores.append(np.stack([getattr(each, of).score for each in parts]))
        weight.append(same.weight * factor[same.instance])
        sign.append(np.full(len(same.score), way))
        instance.append(same.instance)
    x = np.concatenate(scores, 1)
    w, s, target = (np.concatenate(each) for each in (weight, sign, instance))
    centre = np.eye(1, size + len(share))[0]
    precision = np.repeat([SPREAD**-2, BIAS**-2], [size, len(share)])

    def loss(beta: Floats) -> tuple[float, Floats]:
        value, slope = logistic_loss(s * (beta[:size] @ x + beta[size:][target]))
        by_logit = -s * w * slope
        return float(w @ value), np.concatenate([x @ by_logit, np.bincount(target, by_logit, len(share))])

    links = np.bincount(first.links.instance, first.links.weight, len(share))
    count = np.concatenate([np.full(size, links.sum()), links])
    least = np.where(np.arange(len(centre)) < size, 0.0, -np.inf)
    return fit_with_priors(loss, centre, precision, count, (least, np.full(len(centre), np.inf)), start)


def out_of_fold(parts: Sequence[HeldOut], start: Floats | None = None, rankings: Rankings | None = None) -> HeldOut:
    """Return the scores of all parts together, of each pair with factors that were fitted to other folds.

    `start` are factors and biases of all pairs, which are near; by `rankings`, factors alone.
    """
    links, unknown = fold = [np.arange(len(each.score)) % STACKING_FOLDS for each in parts[0][:2]]
    scores = [np.empty(len(each)) for each in fold]
    for number in range(STACKING_FOLDS):
        if rankings is None:
            others = [each.take(links != number, unknown != number) for each in parts]
            factors = weigh(others, start)[: len(parts)]
        else:
            factors = rankings.weigh(start, links[rankings.place] != number)
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
