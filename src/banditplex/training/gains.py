"""Which layers help: how far the log loss falls when one other layer is added to a model of the target layer alone.

Probabilities of a policy do not answer this: a policy must draw some layer even if none helps. Here, two logistic
regressions are compared, one on the target layer's columns and one that also has those of another layer, on edges and
negatives that they were not fitted to.

The pairs that estimate a gain had no part in choosing the layer. Where there are at most `MAX_LAYERS` other layers, all
are compared and nothing is chosen, so all edges can be tested (each by regressions fitted to other folds), on the graph
that predictions see; what other targets there are makes no difference. Where there are more layers, the policies choose
some, and they have learnt from training edges; so validation edges are tested, which are hidden.

Pairs that share a node are not independent: a layer without any relation to the target can fit the popularity of a
node by chance, in all its pairs at once. So the variance of the mean adds up the products of all pairs that share a
node (Aronow, Samii and Assenova, Political Analysis, 2015), and intervals hold for all rows together (Bonferroni).
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.special import stdtrit
from torch import Tensor

from banditplex.nn import PackedGraph, compute_pair_features
from banditplex.nn.paths import Paths
from banditplex.nn.spectral import fold_of
from banditplex.rng import stream
from banditplex.training.data import TrainingData

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_LAYERS = 40
"""Up to so many other layers, all are compared; else those that a policy is most likely to draw."""
MAX_EDGES = 2_000
"""Edges of a target that are fitted or tested."""
FITTED, TESTED = 2, 8
"""Negatives per edge that is fitted, and per validation edge that is tested; they weigh as much as the edges."""
RIDGE = 10.0
"""Penalty on squared coefficients of standardised columns, in pairs."""
STEPS = 12
LEVEL = 0.95


def layer_gains(data: TrainingData, chosen: Ints, seed: int, *, unseen: bool = True) -> list[dict[str, Any]]:
    """Return the gains of other layers for each target: one row per target and layer, with indices of layers.

    Compared are all layers or, if there are too many, layers `chosen` (T, m); `unseen` says whether they were chosen
    without the validation edges. If not, intervals hold for all layers together, as if all had been compared. Gains are
    NaN without edges to test.
    """
    every = data.full_mx.num_layers - 1 <= MAX_LAYERS
    graph = (data.full_view if every else data.train_view).graph
    paths, rows = Paths.of(graph), []
    layers = _all_others(data) if every else chosen
    if not layers.size:
        return []
    family = layers.size if unseen else _all_others(data).size
    for instance, target in enumerate(data.targets.tolist()):
        compare = Comparison(data, graph, paths, target, layers[instance], stream(seed, "gains", target))
        edges = data.train_edges.of(instance), data.validation_edges.of(instance)
        pairs, label, fall = compare.across_folds(np.concatenate(edges)) if every else compare.on(*edges)
        for layer, each in zip(layers[instance].tolist(), fall, strict=True):
            gain, low, high = interval(each, pairs, label, family)
            limits = {"gain": gain, "low": low, "high": high, "helps": bool(low > 0)}
            rows.append({"target": target, "layer": layer} | limits)
    return rows


def _all_others(data: TrainingData) -> Ints:
    every = np.arange(data.full_mx.num_layers)
    return np.array([every[every != target] for target in data.targets]).reshape(len(data.targets), -1)


class Comparison:
    """Compares models of a target layer alone with models that also see one of some other layers (m,)."""

    def __init__(
        self, data: TrainingData, graph: PackedGraph, paths: Paths, target: int, layers: Ints, rng: np.random.Generator
    ) -> None:
        self._data, self._graph, self._paths = data, graph, paths
        self._target, self._layers, self._rng = target, layers, rng

    def across_folds(self, edges: Ints) -> tuple[Ints, Floats, Floats]:
        """Return edges and negatives (n, 2), labels (n,), and falls of their losses (m, n), each fold by the others."""
        pairs, label = self._pairs(edges, FITTED)
        fold = fold_of(pairs, self._data.full_mx.num_nodes)
        parts = [torch.nonzero(fold == number).squeeze(1) for number in torch.unique(fold).tolist()]
        own, others = self._columns(pairs)
        fall = torch.zeros(len(self._layers), len(pairs), dtype=own.dtype, device=own.device)
        for part in parts:
            rest = torch.nonzero(~torch.isin(torch.arange(len(pairs), device=part.device), part)).squeeze(1)
            fall[:, part] = _falls((own[rest], others[:, rest], label[rest]), (own[part], others[:, part], label[part]))
        return pairs.cpu().numpy(), label.cpu().numpy(), fall.cpu().numpy()

    def on(self, fitted: Ints, tested: Ints) -> tuple[Ints, Floats, Floats]:
        """Return the same for tested edges and their negatives, by regressions on fitted edges and negatives."""
        (pairs, label), (asked, truth) = self._pairs(fitted, FITTED), self._pairs(tested, TESTED)
        fall = _falls((*self._columns(pairs), label), (*self._columns(asked), truth))
        return asked.cpu().numpy(), truth.cpu().numpy(), fall.cpu().numpy()

    def _pairs(self, edges: Ints, per_edge: int) -> tuple[Tensor, Tensor]:
        """Return edges and negatives as pairs (n, 2), and their labels (n,)."""
        data, rng = self._data, self._rng
        edges = edges if len(edges) <= MAX_EDGES else edges[rng.permutation(len(edges))[:MAX_EDGES]]
        negatives = data.negatives.draw(np.full(len(edges) * per_edge, self._target), rng)
        label = np.repeat([1.0, 0.0], [len(edges), len(negatives)])
        return torch.from_numpy(np.concatenate([edges, negatives])).to(data.device), torch.from_numpy(label).to(
            data.device
        )

    def _columns(self, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the columns of pairs in the target layer (n, F), and in other layers (m, n, G)."""
        data, m = self._data, len(self._layers)
        target = torch.full((len(pairs),), self._target, device=data.device)
        table = torch.from_numpy(self._layers).to(data.device).expand(len(pairs), -1)
        own, other = compute_pair_features(self._graph, pairs, target, table, data.visibility, listed=False)
        row = self._graph.both.rows(target.repeat(2), pairs.T.reshape(-1)).view(2, -1)
        longer = torch.log1p(self._paths.between(pairs, target, row))
        others = other.values.view(len(pairs), m, other.values.shape[1]).transpose(0, 1)
        return torch.cat([own.values, longer], 1).double(), others.double()


Described = tuple[Tensor, Tensor, Tensor]
"""Columns of pairs in the target layer (n, F) and in other layers (m, n, G), and labels (n,)."""


def _falls(fitted: Described, tested: Described) -> Tensor:
    """Return how far the losses of the tested pairs fall with each of the other layers, (m, n)."""
    if not 0 < fitted[2].sum() < len(fitted[2]):
        return torch.zeros_like(tested[1][:, :, 0])
    alone = _losses(fitted[0][None], fitted[2], tested[0][None], tested[2])
    both = [torch.cat([own.expand(len(others), -1, -1), others], 2) for own, others, _ in (fitted, tested)]
    return alone - _losses(both[0], fitted[2], both[1], tested[2])


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
    it is at least that of independent pairs. NaN without edges.
    """
    edges = float(label.sum())
    if not 0 < edges < len(label):
        return float("nan"), float("nan"), float("nan")
    weight = np.where(label > 0, 0.5 / edges, 0.5 / (len(label) - edges))
    mean = float((weight * fall).sum())
    part = weight * (fall - mean)
    ends = np.unique(pairs, return_inverse=True)[1].reshape(pairs.shape)
    of_node = np.bincount(ends[:, 0], part, ends.max() + 1) + np.bincount(ends[:, 1], part, ends.max() + 1)
    alone = float(part @ part)
    variance = max(float(of_node @ of_node) - alone, alone)
    reach = stdtrit(max(edges - 1, 1), 1 - (1 - LEVEL) / 2 / family) * np.sqrt(variance)
    return mean, mean - reach, mean + reach
