"""Negatives, splits and metrics: time on one core beside sorting a million integers, and the memory it takes."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from banditplex.datasets import planted
from banditplex.evaluation import evaluate_scores, k_fold, split
from banditplex.evaluation.known import KnownPairs
from banditplex.evaluation.negatives import own_negatives, pool_negatives

NUM_LAYERS, EDGES_PER_LAYER, NUM_NODES = 100, 50_000, 100_000
NEGATIVES = 1_000_000
REPEATS = 3


def main() -> None:
    for part in PARTS:
        command = [sys.executable, "-m", "benchmarks.evaluation", part]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="", flush=True)


def measure(part: str) -> None:
    """Print a line about one part; in a process of its own, since memory is measured by its peak."""
    num_layers, size = (5, 4_000) if part == "hard" else (NUM_LAYERS, EDGES_PER_LAYER)
    mx = planted(
        num_layers, num_layers // 5, 0.8, num_nodes=NUM_NODES if num_layers > 5 else size, edges_per_layer=size
    )
    rng = np.random.default_rng(0)
    layer = rng.integers(0, mx.num_layers, NEGATIVES)
    known = {hide: KnownPairs(mx, everywhere=hide == "pair", ordered=False) for hide in ("layer", "pair")}
    label, score = rng.integers(0, 2, NEGATIVES), rng.random(NEGATIVES)
    work: dict[str, Callable[[], object]] = {
        "uniform": lambda: pool_negatives(mx, layer, known["layer"], rng),
        "degree": lambda: pool_negatives(mx, layer, known["layer"], rng, kind="degree"),
        "uniform, pair": lambda: pool_negatives(mx, layer, known["pair"], rng),
        "degree, pair": lambda: pool_negatives(mx, layer, known["pair"], rng, kind="degree"),
        "uniform, each": lambda: own_negatives(mx, layer[:10_000], 100, known["layer"], rng),
        "degree, each": lambda: own_negatives(mx, layer[:10_000], 100, known["layer"], rng, kind="degree"),
        "hard": lambda: split(mx, hide="layer", negatives="hard", each=100).negatives,
        "five folds": lambda: np.concatenate([parts.pairs for parts in k_fold(mx, hide="pair")]),
        "check": split(mx, hide="pair").check if part == "check" else str,
        "metrics": lambda: evaluate_scores(label, score),
    }
    sorting = min(_timed(lambda: np.sort(rng.integers(0, 1 << 62, NEGATIVES)))[0] for _ in range(REPEATS))
    before = _peak()
    seconds, result = _timed(work[part])
    grown = _peak() - before
    seconds = min([seconds, *(_timed(work[part])[0] for _ in range(REPEATS - 1))])
    count = f"{result.size // 2:,} pairs, " if isinstance(result, np.ndarray) else ""
    print(
        f"{part}: {count}{mx.num_edges / 1e6:,.2f} M edges in {mx.num_layers} layers: {seconds / sorting:.1f}x the "
        f"time of sorting a million integers ({seconds:.2f} s), peak memory + {grown / 2**20:,.0f} MiB"
    )


PARTS = (
    "uniform", "degree", "uniform, pair", "degree, pair", "uniform, each", "degree, each", "hard", "five folds",
    "check", "metrics",
)  # fmt: skip


def _timed(call: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    value = call()
    return time.process_time() - start, value


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    measure(sys.argv[1])
