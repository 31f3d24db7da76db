"""Which layers help: how far the log loss falls when one other layer is added to a model of the target layer alone.

Probabilities of a policy do not answer this: a policy must draw some layer even if none helps. Here, two logistic
regressions are fitted to training pairs, one on the target layer's columns and one that also has those of another
layer, and compared on validation edges and as many negatives. The policies, which have learnt from training pairs, say
which layers are compared; validation edges estimate the gain and have no part in that.

Pairs that share a node are not independent: a layer without any relation to the target can fit the popularity of a
node by chance, in all its pairs at once. So the variance of the mean adds up the products of all pairs that share a
node (Aronow, Samii and Assenova, Political Analysis, 2015), and intervals hold for all rows together (Bonferroni).
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor

from banditplex.nn import compute_pair_features
from banditplex.nn.paths import Paths
from banditplex.rng import stream
from banditplex.training.data import TrainingData

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_EDGES = 2_000
"""Training edges of a target that regressions are fitted to."""
FITTED, TESTED = 2, 8
"""Negatives per edge that is fitted, and per edge that is tested; together they weigh as much as the edges."""
RIDGE = 1.0
"""Penalty on squared coefficients of standardised columns, in pairs."""
STEPS = 12
LEVEL = 0.95


def layer_gains(data: TrainingData, looked_at: Ints, seed: int) -> list[dict[str, Any]]:
    """Return the gains of layers (T, m) for each target: one row per target and layer, with indices of layers.

    Gains are NaN where a target has no validation edges.
    """
    paths, rows = Paths.of(data.train_graph), []
    family = max(1, looked_at.size)
    for instance, target in enumerate(data.targets.tolist()):
        rng = stream(seed, "gains", int(target))
        train = _pairs(data, data.train_edges.of(instance), target, rng, FITTED)
        tested = _pairs(data, data.validation_edges.of(instance), target, rng, TESTED)
        found = np.full((looked_at.shape[1], 3), np.nan)
        if len(train[0]) and len(tested[0]):
            own, others = _columns(data, paths, train[0], target, looked_at[instance])
            own_tested, others_tested = _columns(data, paths, tested[0], target, looked_at[instance])
            alone = _losses(own[None], train[1], own_tested[None], tested[1])
            both, both_tested = (
                torch.cat([a.expand(len(b), -1, -1), b], 2) for a, b in ((own, others), (own_tested, others_tested))
            )
            fall = (alone - _losses(both, train[1], both_tested, tested[1])).cpu().numpy()
            found = np.array(
                [interval(each, tested[0].cpu().numpy(), tested[1].cpu().numpy(), family) for each in fall]
            )
        for layer, (gain, low, high) in zip(looked_at[instance].tolist(), found.tolist(), strict=True):
            limits = {"gain": gain, "low": low, "high": high, "helps": bool(low > 0)}
            rows.append({"target": target, "layer": layer} | limits)
    return rows


def _pairs(data: TrainingData, edges: Ints, target: int, rng: np.random.Generator, per_edge: int) -> tuple[Tensor, Tensor]:
    """Return edges and negatives as pairs (n, 2), and their labels (n,)."""
    edges = edges if len(edges) <= MAX_EDGES else edges[rng.permutation(len(edges))[:MAX_EDGES]]
    negatives = data.negatives.draw(np.full(len(edges) * per_edge, target), rng)
    pairs = np.concatenate([edges, negatives])
    label = np.repeat([1.0, 0.0], [len(edges), len(negatives)])
    return torch.from_numpy(pairs).to(data.device), torch.from_numpy(label).to(data.device)


def _columns(data: TrainingData, paths: Paths, pairs: Tensor, target: int, layers: Ints) -> tuple[Tensor, Tensor]:
    """Return the columns of pairs in the target layer (n, F), and in other layers (m, n, G)."""
    of_target = torch.full((len(pairs),), target, device=data.device)
    table = torch.from_numpy(layers).to(data.device).expand(len(pairs), -1)
    own, other = compute_pair_features(data.train_graph, pairs, of_target, table, data.visibility)
    longer = torch.log1p(paths.between(pairs, of_target, own.row))
    others = other.values.view(len(pairs), len(layers), -1).transpose(0, 1)
    return torch.cat([own.values, longer], 1).double(), others.double()


def _weights(label: Tensor) -> Tensor:
    """Return weights of mean 1 that give edges and negatives the same sum."""
    edges = label.mean()
    return torch.where(label > 0, 0.5 / edges, 0.5 / (1 - edges))


def _losses(x: Tensor, label: Tensor, x_tested: Tensor, label_tested: Tensor) -> Tensor:
    """Fit B regressions on x (B, n, F); return the log losses (B, m) of the tested pairs (B, m, F)."""
    mean, scale = x.mean(1, keepdim=True), x.std(1, keepdim=True).clamp(min=0.02)
    x, x_tested = (F.pad((each - mean) / scale, (0, 1), value=1.0) for each in (x, x_tested))
    weight = _weights(label)
    penalty = RIDGE * torch.eye(x.shape[2], dtype=x.dtype, device=x.device)
    penalty[-1, -1] = 1e-6
    beta = torch.zeros(len(x), x.shape[2], 1, dtype=x.dtype, device=x.device)
    for _ in range(STEPS):  # Newton's method; the penalty makes steps small enough
        p = torch.sigmoid(x @ beta).squeeze(2)
        gradient = x.transpose(1, 2) @ (weight * (p - label)).unsqueeze(2) + penalty @ beta
        curvature = x.transpose(1, 2) @ ((weight * p * (1 - p)).unsqueeze(2) * x) + penalty
        beta = beta - torch.linalg.solve(curvature, gradient)
    logit = (x_tested @ beta).squeeze(2)
    return F.binary_cross_entropy_with_logits(logit, label_tested.expand_as(logit), reduction="none")


def interval(fall: Floats, pairs: Ints, label: Floats, family: int) -> tuple[float, float, float]:
    """Return the weighted mean of falls (n,) on pairs (n, 2), and its limits; all of a family hold with `LEVEL`.

    Edges and negatives weigh the same. The variance sums the products of the deviations of all pairs that share a node;
    it is at least that of independent pairs.
    """
    edges = float(label.sum())
    weight = np.where(label > 0, 0.5 / edges, 0.5 / (len(label) - edges))
    mean = float((weight * fall).sum())
    part = weight * (fall - mean)
    ends = np.unique(pairs, return_inverse=True)[1].reshape(pairs.shape)
    of_node = np.bincount(ends[:, 0], part, ends.max() + 1) + np.bincount(ends[:, 1], part, ends.max() + 1)
    alone = float(part @ part)
    variance = max(float(of_node @ of_node) - alone, alone)
    reach = stats.t.ppf(1 - (1 - LEVEL) / 2 / family, max(edges - 1, 1)) * np.sqrt(variance)
    return mean, mean - reach, mean + reach
