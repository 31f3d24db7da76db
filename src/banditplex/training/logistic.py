"""Logistic regression with a ridge penalty, by Newton's method: the one solver of model, gains and baselines."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

STEPS, ENOUGH = 40, 1e-4
KEPT = 3  # steps with the same curvature, where regressions have the same columns; most of the time is spent on it
LIGHT = 0.1  # share of the penalty that light columns have
LEAST_SCALE = 0.02  # columns that vary less are not blown up


def fit(
    columns: Tensor, label: Tensor, fold: Tensor, penalties: Sequence[float], *, num_folds: int
) -> tuple[Tensor, Tensor]:
    """Return the weights (F,) and the constant of a regression of labels (n,) on columns (n, F).

    Edges and negatives weigh the same. Columns are standardised. Of the penalties, from the largest to the smallest,
    the one is used that predicts each fold (n,) best from the others.
    """
    x, y = columns.double(), label.double()
    mean, scale = x.mean(0), x.std(0, unbiased=False).clamp(min=LEAST_SCALE)
    weight = balanced(y)
    fitted = torch.stack([weight * (fold != part) for part in range(num_folds)] + [weight])  # all but a fold, then all
    x = F.pad((x - mean) / scale, (0, 1), value=1.0)
    best, found = torch.inf, torch.zeros(x.shape[1], dtype=x.dtype, device=x.device)
    for beta in path(x.unsqueeze(0), y, fitted, penalties):
        logit = (beta[:-1] @ x.T).gather(0, fold.unsqueeze(0)).squeeze(0)  # of each pair, by what was fitted without it
        loss = float((weight * F.binary_cross_entropy_with_logits(logit, y, reduction="none")).sum())
        if loss < best:  # never if a fit has failed
            best, found = loss, beta[-1]
    raw = found[:-1] / scale
    return raw, found[-1] - raw @ mean


def balanced(label: Tensor) -> Tensor:
    """Return weights (n,) of mean 1 that give edges and negatives the same sum."""
    share = label.mean()
    return torch.where(label > 0, 0.5 / share, 0.5 / (1 - share))


def path(x: Tensor, label: Tensor, weight: Tensor, penalties: Sequence[float], *, light: int = 0) -> list[Tensor]:
    """Return the weights (B, F) of B regressions with weights (B, n) of the pairs, for each penalty.

    They have the same columns x (1, n, F), or columns of their own (B, n, F); or the same weights (1, n) of the pairs.
    The first `light` columns have a tenth of the penalty; the last is a constant, which has none. Newton's method; a
    penalty starts from what the one before it has found, which is near. Regressions on the same columns differ little:
    the largest curvature serves all.
    """
    free = torch.ones(x.shape[2], dtype=x.dtype, device=x.device)
    free[:light], free[-1] = LIGHT, 1e-6
    rough, shared = x.float(), len(x) == 1  # for the curvature, which need not be exact: gradients say where a fit ends
    beta, found = torch.zeros(max(len(x), len(weight)), x.shape[2], dtype=x.dtype, device=x.device), []
    for penalty in penalties:
        ridge = penalty * free
        for turn in range(STEPS):
            p = torch.sigmoid(beta @ x[0].T if shared else (x @ beta.unsqueeze(2)).squeeze(2))
            residual = weight * (p - label)
            gradient = (residual @ x[0] if shared else (residual.unsqueeze(1) @ x).squeeze(1)) + ridge * beta
            if turn % KEPT == 0 or not shared:
                share = (weight * p * (1 - p)).float()
                share = (share.amax(0, keepdim=True) if shared else share).unsqueeze(2)
                curvature = (rough.transpose(1, 2) @ (share * rough)).to(x.dtype) + torch.diag(ridge)
            step = torch.linalg.solve_ex(curvature, gradient.unsqueeze(2))[0].squeeze(2)
            beta = beta - step
            if step.abs().max() < ENOUGH:
                break
        found.append(beta)
    return found
