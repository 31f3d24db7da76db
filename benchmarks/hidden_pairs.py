"""Pairs that no layer links: what learning for them is worth, on splits that hide held-out pairs in every layer.

    python -m benchmarks.hidden_pairs --data vickers,ckm --first-seed 100 --seeds 10

hide="pair", 80/20, one negative per held-out edge, ROC-AUC averaged over layers, paired over seeds: the default policy
that learnt with hide="layer" and with hide="pair", with k = 1 and k = 2.
"""

import argparse
import sys
from functools import partial

import numpy as np
import torch

from banditplex.evaluation import split
from banditplex.predictor import LinkPredictor
from benchmarks.learner_quality import by_model, load, mean_auc


def measure(name: str, seed: int, k: int, epochs: int) -> list[float]:
    """Return the ROC-AUC of models that learnt with hide="layer" and hide="pair" on one split."""
    parts = split(load(name, seed), hide="pair", seed=seed)
    models = (LinkPredictor(k=k, hide=hide, epochs=epochs, seed=seed).fit(parts.train) for hide in ("layer", "pair"))
    return [mean_auc(parts, partial(by_model, model, parts.train)) for model in models]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="vickers,ckm,lazega-corrected,celegans")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=30)
    options = parser.parse_args(arguments or [])
    torch.set_num_threads(1)
    for name in options.data.split(","):
        for k in (1, 2):
            seeds = range(options.first_seed, options.first_seed + options.seeds)
            found = np.array([measure(name, seed, k, options.epochs) for seed in seeds])
            difference = found[:, 1] - found[:, 0]
            error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
            means = "  ".join(
                f'hide="{hide}" {mean:.4f}' for hide, mean in zip(("layer", "pair"), found.mean(0), strict=True)
            )
            print(f"{name:18} k={k}  {means}  difference {difference.mean():+.4f} ± {error:.4f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
