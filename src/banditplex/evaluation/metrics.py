"""Metrics of scores (n,) against labels (n,) of 0 and 1, and filtered ranking, which knowledge graphs have in print.

Ranking metrics rank each positive against a shared pool of negatives, or against its own negatives. The rank of a
positive is 1 + the number of negatives with a higher score + half the number of negatives with the same score (the mean
rank), so constant scores gain nothing.

Filtered ranking ranks both ends of a test edge (u, v) among all nodes: the destination among all w by the score of
(u, w), the source by that of (w, v). Nodes that make another known edge of the layer, of training, validation or test,
are left out (*filtered*): they are right answers, too. A node is not linked with itself, so u is no candidate. Bordes
et al., Translating Embeddings for Modeling Multi-relational Data, NeurIPS 2013.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditplex.arrays import Bools, Floats, Ints
from banditplex.errors import InputError
from banditplex.evaluation.split import FixedSplit
from banditplex.multiplex import Name
from banditplex.registry import check_choice
from banditplex.scorer import LinkScorer

AT = (1, 10, 50)


# Classification


def accuracy(label: ArrayLike, score: ArrayLike, *, threshold: float | None = 0.0) -> float:
    """Return the share of pairs that are classified correctly; scores above `threshold` are predicted edges.

    The default threshold suits logits; None: see `f1`.

    >>> accuracy([1, 0, 0, 1], [2.0, -1.0, 0.5, 0.1])
    0.75
    """
    positive, values = _check_scores(label, score, both=False)
    return float((_predict(positive, values, threshold) == positive).mean())


def f1(label: ArrayLike, score: ArrayLike, *, threshold: float | None = 0.0) -> float:
    """Return the harmonic mean of precision and recall; 0 if there are no true positives.

    Scores above `threshold` are predicted edges. With threshold=None, as many pairs are predicted edges as there are
    edges (more if scores are tied), as in GATNE's evaluation. This suits scores of any scale.

    >>> f1([1, 0, 0, 1], [2.0, -1.0, 0.5, 0.1])
    0.8
    >>> f1([1, 0, 0, 1], [5, 1, 3, 2], threshold=None)
    0.5
    """
    positive, values = _check_scores(label, score, both=False)
    predicted = _predict(positive, values, threshold)
    return float(2 * (predicted & positive).sum() / max(predicted.sum() + positive.sum(), 1))


def roc_auc(label: ArrayLike, score: ArrayLike) -> float:
    """Return the probability that a positive scores higher than a negative; ties count half.

    >>> roc_auc([1, 1, 0, 0], [3.0, 1.0, 1.0, 0.0])
    0.875
    """
    positive, values = _check_scores(label, score)
    high, low = values[positive], np.sort(values[~positive])
    below = sum(np.searchsorted(low, high, side).sum() for side in ("left", "right"))  # each twice, ties once
    return float(below / (2 * len(high) * len(low)))


def average_precision(label: ArrayLike, score: ArrayLike) -> float:
    """Return the mean precision over the positives; tied scores share one threshold.

    >>> round(average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1]), 4)
    0.8333
    """
    positive, values = _check_scores(label, score)
    order = np.argsort(-values, kind="stable")
    hits = np.cumsum(positive[order])
    last = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)
    gained = np.diff(hits[last], prepend=0)
    return float((gained * hits[last] / (last + 1)).sum() / hits[-1])


def average_precision_at(label: ArrayLike, score: ArrayLike, *, at: int) -> float:
    """Return the average precision of the `at` pairs with the highest scores: AP@50 of Decagon for at=50.

    It is the sum of the precisions at the ranks of positives, up to rank `at`, divided by min(at, number of
    positives). Where scores are tied, it is the mean over all orders of the tied pairs.

    >>> average_precision_at([1, 0, 1, 1], [0.9, 0.8, 0.7, 0.1], at=2)
    0.5
    """
    positive, values = _check_scores(label, score)
    order = np.argsort(-values, kind="stable")
    group = np.cumsum(np.diff(values[order], prepend=values[order[0]]) != 0)
    size, hits = np.bincount(group), np.bincount(group, positive[order])
    first, before = np.cumsum(size) - size, np.cumsum(hits) - hits
    rank = np.arange(min(at, len(values)))
    group = group[rank]
    others = (hits[group] - 1) * (rank - first[group]) / np.maximum(size[group] - 1, 1)
    gained = hits[group] / size[group] * (before[group] + 1 + others) / (rank + 1)
    return float(gained.sum() / min(at, int(positive.sum())))


def brier(label: ArrayLike, probability: ArrayLike) -> float:
    """Return the Brier score, the mean squared error of probabilities.

    >>> brier([1, 0], [0.5, 0.5])
    0.25
    """
    positive, values = _check_scores(label, probability, both=False)
    return float(((values - positive) ** 2).mean())


# Ranking


def ranks(positive: ArrayLike, negative: ArrayLike) -> Floats:
    """Return the rank (p,) of each positive: 1 + negatives with a higher score + half of those with the same score.

    Parameters: scores (p,) of positives; scores of negatives, (n,) for a shared pool or (p, m) for each positive's own,
    NaN where it has fewer.

    >>> ranks([3.0, 1.0], [2.0, 1.0, 0.0])
    array([1. , 2.5])
    >>> ranks([3.0, 1.0], [[2.0, 1.0], [1.0, 1.0]])
    array([1., 2.])
    """
    score, other = finite(positive), _own(negative)
    own = other.ndim == 2 and len(other) == len(score)
    if score.ndim != 1 or not (other.ndim == 1 or own) or not score.size or not other.size:
        shapes = f"{score.shape} and {other.shape}"
        raise InputError(f"Expected scores (p,) of positives and (n,) or (p, m) of negatives, got {shapes}.")
    if own:
        above, tied = (other > score[:, None]).sum(1), (other == score[:, None]).sum(1)
    else:
        pool = np.sort(other)
        first, last = np.searchsorted(pool, score, "left"), np.searchsorted(pool, score, "right")
        above, tied = len(pool) - last, last - first
    return np.asarray(1 + above + tied / 2)


def mrr(rank: ArrayLike) -> float:
    """Return the mean reciprocal rank.

    >>> mrr([1, 2.5])
    0.7
    """
    return float((1 / np.asarray(rank, dtype=np.float64)).mean())


def hits(rank: ArrayLike, *, at: int) -> float:
    """Return the share of ranks that are at most `at`.

    >>> hits([1, 2.5, 4], at=2)
    0.3333333333333333
    """
    return float((np.asarray(rank) <= at).mean())


# All metrics


@dataclass(frozen=True)
class LayerMetrics:
    """Metrics of each layer with test pairs, of the pairs of all layers together, and the mean over layers."""

    layers: dict[Name, dict[str, float]]
    pooled: dict[str, float]
    mean: dict[str, float]


def evaluate_scores(
    label: ArrayLike,
    score: ArrayLike,
    *,
    negatives: ArrayLike | None = None,
    threshold: float | None = 0.0,
    at: Sequence[int] = AT,
) -> dict[str, float]:
    """Return accuracy, roc_auc, average_precision, ap_at_50, f1, mrr, hits_at_1, hits_at_10, hits_at_50 of one layer.

    Parameters
    ----------
    label, score
        Labels (n,) and scores (n,) of test pairs.
    negatives
        Scores (p, m) of each positive's own negatives, in the order of the positives in `label`, NaN where it has
        fewer. None: positives are ranked against the pairs with label 0.
    threshold
        Scores above it are predicted edges; None: see `f1`.
    at
        Cut-offs. With fewer negatives than a cut-off every positive would be a hit, so the result is NaN.

    >>> evaluate_scores([1, 1, 0, 0], [3, 1, 1, 0], at=[1])["mrr"]
    0.8333333333333333
    """
    positive, values = _check_scores(label, score)
    against = values[~positive] if negatives is None else _own(negatives)
    fewest = int(np.count_nonzero(~np.isnan(against), axis=-1).min())
    return {
        "accuracy": accuracy(positive, values, threshold=threshold),
        "roc_auc": roc_auc(positive, values),
        "average_precision": average_precision(positive, values),
        "ap_at_50": average_precision_at(positive, values, at=50),
        "f1": f1(positive, values, threshold=threshold),
    } | rank_metrics(ranks(values[positive], against), at, fewest)


def evaluate_layers(
    layer: ArrayLike,
    label: ArrayLike,
    score: ArrayLike,
    *,
    names: Sequence[Name],
    negatives: ArrayLike | None = None,
    threshold: float | None = 0.0,
    at: Sequence[int] = AT,
) -> LayerMetrics:
    """Return the metrics of `evaluate_scores` for each layer, for all pairs together (pooled), and their mean.

    Pooled metrics compare scores of different layers, except in rankings against a positive's own negatives. Layers
    without test pairs are omitted. Parameters: `layer` (n,), indices into `names`; others as for `evaluate_scores`.
    """
    where = np.asarray(layer)
    positive, values = _check_scores(label, score)
    own = None if negatives is None else _own(negatives)
    pooled = evaluate_scores(positive, values, negatives=own, threshold=threshold, at=at)
    found: dict[Name, dict[str, float]] = {}
    order, place = np.argsort(where, kind="stable"), np.cumsum(positive) - 1  # of a positive among all positives
    indices, first = np.unique(where[order], return_index=True)
    for index, here in zip(indices.tolist(), np.split(order, first[1:]), strict=True):
        if positive[here].all() or not positive[here].any():
            raise InputError(f"Expected test pairs of both labels in layer {names[index]!r}, got {len(here)} of one.")
        mine = None if own is None else own[place[here[positive[here]]]]
        found[names[index]] = evaluate_scores(positive[here], values[here], negatives=mine, threshold=threshold, at=at)
    mean = {metric: float(np.mean([row[metric] for row in found.values()])) for metric in pooled}
    return LayerMetrics(found, pooled, mean)


def rank_metrics(rank: Floats, at: Sequence[int], num_negatives: float = np.inf) -> dict[str, float]:
    """Return mrr and hits of ranks (n,) among so many negatives; NaN for cut-offs above their number."""
    cuts = {f"hits_at_{cut}": hits(rank, at=cut) if cut <= num_negatives else np.nan for cut in at}
    return {"mrr": mrr(rank)} | cuts


def _predict(positive: Bools, values: Floats, threshold: float | None) -> Bools:
    """Return which pairs are predicted edges."""
    if threshold is not None:
        return values > threshold
    count = np.count_nonzero(positive)
    lowest = np.sort(values)[-count] if count else np.inf
    return values >= lowest


def _check_scores(label: ArrayLike, score: ArrayLike, *, both: bool = True) -> tuple[Bools, Floats]:
    labels, values = np.asarray(label), finite(score)
    if labels.ndim != 1 or labels.shape != values.shape or not len(labels):
        raise InputError(f"Expected one score per label, got shapes {labels.shape} and {values.shape}.")
    wrong = (labels != 0) & (labels != 1)
    if wrong.any():
        raise InputError(f"Expected labels 0 and 1, got {labels[wrong][0]}.")
    positive = labels.astype(np.bool_)
    if both and (positive.all() or not positive.any()):
        raise InputError(f"Expected labels 0 and 1, got only {int(positive[0])}.")
    return positive, values


def _own(score: ArrayLike) -> NDArray[Any]:
    """Return scores of negatives, of which those of positives that have fewer (p, m) may be NaN."""
    values = np.asarray(score, dtype=np.float64)
    finite(values if values.ndim != 2 else values[~np.isnan(values)])
    return values


def finite(score: ArrayLike, where: str = "") -> NDArray[Any]:
    """Return scores as float64; refuse what is not finite, and say `where`."""
    values = np.asarray(score, dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"Expected finite scores, got {values[~np.isfinite(values)][0]}{where}.")
    return values


FILTERED_AT = (1, 3, 10)
FILTERED = ("filtered_mrr", *(f"filtered_hits_at_{cut}" for cut in FILTERED_AT))
"""Names of the metrics in rows of `evaluate` and `compare`."""
SCORED_AT_ONCE = 1 << 19  # pairs that are scored at a time


def filtered_ranking(
    scorer: LinkScorer, data: FixedSplit, *, part: str = "test", targets: Sequence[Name] | None = None
) -> LayerMetrics:
    """Return mrr, hits_at_1, hits_at_3 and hits_at_10 of both ends of held-out edges, among all nodes.

    Parameters
    ----------
    scorer
        A method that was fitted to `data.test.train`, which has no held-out edge.
    data
        A split that comes with the data, from `fixed_split`.
    part
        "test", or "valid" to choose settings.
    targets
        Layers whose edges are ranked; None: all that have some.

    Returns metrics of each layer, of all ends together (`pooled`, as in print), and means over layers. Memory is that
    of half a million pairs.
    """
    if not isinstance(data, FixedSplit):
        raise InputError(f"Expected a split that fixed_split returns, got {type(data).__name__}.")
    check_choice("part", part, data._fields)
    asked = getattr(data, part)
    mx, held = asked.train, asked.label == 1
    layers = np.unique(asked.layer[held]) if targets is None else [mx.layer_index(name) for name in targets]
    found = {}
    for layer in layers:
        pairs = asked.pairs[held & (asked.layer == layer)]
        if len(pairs):
            known = data.known_edges(int(layer))
            ends = (_rank(scorer, mx.node_names, mx.layer_names[layer], pairs, known, end) for end in (1, 0))
            found[mx.layer_names[layer]] = np.concatenate(list(ends))
    if not found:
        raise InputError(f"Expected a held-out edge to rank in {part}, got none.")
    by_layer = {name: rank_metrics(rank, FILTERED_AT) for name, rank in found.items()}
    mean = {name: float(np.mean([row[name] for row in by_layer.values()])) for name in next(iter(by_layer.values()))}
    return LayerMetrics(by_layer, rank_metrics(np.concatenate(list(found.values())), FILTERED_AT), mean)


def _rank(scorer: LinkScorer, names: NDArray, layer: Name, pairs: Ints, known: Ints, end: int) -> Floats:  # type: ignore[type-arg]
    """Return the rank (n,) of one end (1: the destination) of edges (n, 2) of a layer whose known edges are (m, 2)."""
    kept, row = np.unique(pairs[:, 1 - end], return_inverse=True)  # edges that share the other end share their scores
    size, rank = max(SCORED_AT_ONCE // len(names), 1), np.empty(len(pairs))
    for start in range(0, len(kept), size):
        nodes = kept[start : start + size]
        grid = np.indices((len(nodes), len(names))).reshape(2, -1)
        asked = np.stack([nodes[grid[0]], grid[1]], 1)
        two, score = asked[:, 0] != asked[:, 1], np.zeros(len(asked))  # 0 for a node with itself
        found = scorer.score_pairs(names[asked[two][:, :: 1 if end else -1]], layer)
        score[two] = finite(found, f" in layer {layer!r}")
        table, near = score.reshape(-1, len(names)), known[np.isin(known[:, 1 - end], nodes)]
        others = table.copy()
        others[np.searchsorted(nodes, near[:, 1 - end]), near[:, end]] = np.nan  # of other right answers, and its own
        others[np.arange(len(nodes)), nodes] = np.nan
        here = np.flatnonzero((row >= start) & (row < start + size))
        for some in np.array_split(here, -(-len(here) // size)):
            place = row[some] - start
            rank[some] = ranks(table[place, pairs[some, end]], others[place])
    return rank
