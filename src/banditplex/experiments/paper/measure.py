"""One run: train a method on one fold of one trial, and judge it after each epoch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from banditplex import relevance
from banditplex.datasets import load_dataset
from banditplex.evaluation import Split, split
from banditplex.experiments.paper.settings import DATASETS, HIDE, METHODS, TRAINING, Size
from banditplex.predictor import LinkPredictor
from banditplex.relevance import Seen
from banditplex.rng import stream

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
DIGITS = 6


def euclidean(seen: Seen) -> Tensor:
    """The paper's first layer loss, of the drawn layer alone: the policies are bandits, nothing is observed for free."""
    return relevance.euclidean(seen)


def cosine(seen: Seen) -> Tensor:
    """The paper's second layer loss, of the drawn layer alone."""
    return relevance.cosine(seen)


LOSSES: dict[str | None, Any] = {None: "predictive", "predictive": "predictive", "euclidean": euclidean, "cosine": cosine}


def run(dataset, method, trial, fold, seed, epochs, und=True):
    mx = load_dataset(dataset)
    if und: mx = mx.to_undirected()
    part = split(mx, hide=HIDE, seed=trial*5+fold)
    chosen = METHODS[method]
    model = LinkPredictor(policy=chosen.policy, policy_options=dict(chosen.options), relevance=LOSSES[chosen.loss], epochs=epochs, patience=epochs, seed=trial*5+fold, **TRAINING)
    judge = Judge(part, seed)
    model.fit(part.train, on_epoch=judge)
    return judge, model


class Judge:
    def __init__(self, part, seed):
        self.part = part
        self.rng = stream(seed, "judge")
        self.train, self.test, self.fav = [], [], []
    def __call__(self, model, row):
        p = model.layer_probabilities_.to_numpy()
        part = self.part
        cum = np.cumsum(p, 1); cum /= cum[:, -1:]
        u = self.rng.random(len(part.layer))
        drawn = (cum[part.layer] < u[:, None]).sum(1)
        ties = self.rng.random(p.shape)
        fav = np.lexsort((ties, -p))[:, 0][part.layer]
        s = model.score_by_layer(part.train.node_names[part.pairs], part.layer, np.stack([drawn, fav], 1))
        right = (s > 0) == (part.label == 1)[:, None]
        n = np.bincount(part.layer)
        acc = [np.mean(np.bincount(part.layer, right[:, i]) / n) for i in range(2)]
        self.train.append(row["train_accuracy"]); self.test.append(acc[0]); self.fav.append(acc[1])
