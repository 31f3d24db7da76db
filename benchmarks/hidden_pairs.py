"""What it is worth to learn for what will be hidden: models with hide="edge" and with that of the split.

    python -m benchmarks.hidden_pairs --data vickers,ckm --hide pair --first-seed 100 --seeds 10
    python -m benchmarks.hidden_pairs --data vickers,ckm --hide layer --directed --first-seed 100 --seeds 10

80/20, one negative per held-out edge, ROC-AUC and Brier score averaged over layers, paired over seeds: the default
policy with k = 1 and k = 2.
"""

import argparse
import sys
from functools import partial

import numpy as np
import torch

from banditplex.datasets import load_dataset
from banditplex.evaluation import split
from banditplex.multiplex import Multiplex
from banditplex.predictor import LinkPredictor
from benchmarks.learner_quality import by_model, mean_auc, mean_brier, standard_error


def measure(mx: Multiplex, hide: str, seed: int, k: int, epochs: int) -> list[tuple[float, float]]:
    """Return ROC-AUC and Brier score of models that learnt with hide="edge" and with `hide`, on one split."""
    parts = split(mx, hide=hide, seed=seed)
    models = [LinkPredictor(k=k, hide=each, epochs=epochs, seed=seed).fit(parts.train) for each in ("edge", hide)]
    return [(mean_auc(parts, partial(by_model, model, parts.train)), mean_brier(parts, model)) for model in models]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="twins")
    parser.add_argument("--hide", default="pair", choices=("layer", "pair"))
    parser.add_argument("--directed", action="store_true", help="keep directions, as the data have them")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=30)
    options = parser.parse_args(arguments or [])
    torch.set_num_threads(1)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    for name in options.data.split(","):
        mx = load_dataset(name)
        mx = mx if options.directed else mx.to_undirected()
        for k in (1, 2):
            found = np.array([measure(mx, options.hide, seed, k, options.epochs) for seed in seeds])  # (seeds, 2, 2)
            gain = found[:, 1, 0] - found[:, 0, 0]
            (auc, brier), (other_auc, other_brier) = found.mean(0)
            print(f"{name:17} k={k}  ROC-AUC: edge {auc:.4f}, {options.hide} {other_auc:.4f}", end="  ")
            print(
                f"({gain.mean():+.4f} ± {standard_error(gain):.4f})  Brier: {brier:.4f}, {other_brier:.4f}", flush=True
            )


if __name__ == "__main__":
    main(sys.argv[1:])
