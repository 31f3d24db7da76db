"""One fit of one method, in the child process: fit, score, and what it took."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from banditplex.evaluation.metrics import AT, rank_metrics, ranks
from banditplex.evaluation.protocol import copy_scorer, score_split, testable, with_filtered
from banditplex.evaluation.split import Split
from banditplex.jobs.limits import limited
from banditplex.leaderboard.methods import Method, Settings
from banditplex.leaderboard.parts import Part
from banditplex.leaderboard.plan import start_device
from banditplex.multiplex import Name
from banditplex.storage.rows import Row

TOLD_APART = ("roc_auc", "average_precision", "ap_at_50", "accuracy", "f1")
MEDIANS = ("roc_auc", "average_precision", "ap_at_50")
"""Metrics whose median over layers is told, too, as median_roc_auc and so on."""
EARLY = 0.8  # share of its time after which a method that can stop early does so
OURS_EARLY = 0.6
"""The same for our learner: what comes after its epochs, weights of its parts and calibration, takes time, too."""
RANKING = ("mrr", *(f"hits_at_{cut}" for cut in AT))


@dataclass(frozen=True)
class Job:
    """What the child process is sent: a method with settings, the data, and the limits of the fit and of scoring."""

    key: str
    method: Method
    settings: Settings
    seed: int
    part: Part
    targets: tuple[Name, ...]
    seconds: float
    memory: float
    device: str = "cpu"


def measure(job: Job) -> list[Row]:
    """Return rows of a fit: one per layer, one pooled and one mean, all with time, memory and number of parameters."""
    data = job.part.test
    targets = testable(data, job.targets)
    scorer = limit(copy_scorer(job.method.make(**job.settings), job.seed, data.hide), job.device, job.seconds)
    start_device(job.device)
    in_epochs = "on_epoch" in inspect.signature(scorer.fit).parameters
    with limited(job.seconds, job.memory) as fitted:
        early = {"on_epoch": lambda *_: fitted.elapsed() > OURS_EARLY * job.seconds} if in_epochs else {}
        scorer.fit(data.train, targets=targets, **early)
    with limited(job.seconds, job.memory, before=fitted.before) as scored:
        rows = score_split(scorer, data, targets, metrics=TOLD_APART, threshold=None)
        if job.part.triples is not None:
            rows = with_filtered(rows, scorer, job.part.triples, targets, job.part.name)
        rankings = {name: rank_split(scorer, part, targets) for name, part in job.part.ranked.items()}
    told = getattr(scorer, "num_parameters_", None)
    took: Row = {"fit_seconds": fitted.seconds, "score_seconds": scored.seconds}
    took |= {"parameters": None if told is None else int(told), "memory": max(fitted.memory, scored.memory)}
    return [row | _columns(row, rows, rankings) | took for row in rows]


def limit(scorer: Any, device: str, seconds: float) -> Any:
    """Set the parameter `device`, and `time_limit` if that is None to a little less, of a scorer that has them."""
    known = scorer.get_params(deep=False) if hasattr(scorer, "get_params") else {}
    values = {"device": device, "time_limit": EARLY * seconds if known.get("time_limit", 0) is None else None}
    wanted = {name: value for name, value in values.items() if name in known and value is not None}
    return scorer.set_params(**wanted) if wanted else scorer


def rank_split(scorer: Any, part: Split, targets: list[Name]) -> dict[Name, dict[str, float]]:
    """Return MRR and Hits of the edges of each layer among their own negatives."""
    names, found = part.train.node_names, {}
    for layer in targets:
        pairs, negatives = part.ranking(layer)
        if len(pairs):
            others = scorer.score_pairs(names[negatives.reshape(-1, 2)], layer)
            rank = ranks(scorer.score_pairs(names[pairs], layer), np.reshape(others, negatives.shape[:2]))
            found[layer] = rank_metrics(rank, AT, negatives.shape[1])
    return found


def _columns(row: Row, rows: list[Row], rankings: dict[str, dict[Name, dict[str, float]]]) -> Row:
    """Return more metrics of a row: rankings of its layer, or means and medians over layers; pooled rows have none."""
    columns: Row = {}
    if row["scope"] == "mean":
        layers = [each for each in rows if each["scope"] == "layer"]
        columns = {f"median_{name}": float(np.median([each[name] for each in layers])) for name in MEDIANS}
    for name, by_layer in rankings.items():
        for metric in RANKING:
            if row["scope"] == "mean" and by_layer:
                columns[f"{name}_{metric}"] = float(np.mean([each[metric] for each in by_layer.values()]))
            elif row["scope"] == "layer" and row["layer"] in by_layer:
                columns[f"{name}_{metric}"] = by_layer[row["layer"]][metric]
    return columns
