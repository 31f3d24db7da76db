"""Negatives, splits and metrics: processor time beside sorting a million integers, and memory beside the result."""

import time
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np

from banditplex.datasets import planted
from banditplex.evaluation import evaluate_scores, k_fold, split
from banditplex.multiplex import Multiplex
from banditplex.pairs.known import KnownPairs
from banditplex.pairs.negatives import own_negatives, pool_negatives

MILLION = 1_000_000
REPEATS = 3


def main() -> None:
    mx = planted(100, 20, 0.8, num_nodes=100_000, edges_per_layer=50_000)
    medium = planted(20, 4, 0.8, num_nodes=100_000, edges_per_layer=50_000)
    small = planted(5, 1, 0.8, num_nodes=4_000, edges_per_layer=4_000)
    rng = np.random.default_rng(0)
    layer = rng.integers(0, mx.num_layers, MILLION)
    label, score = rng.integers(0, 2, MILLION), rng.random(MILLION)
    integers = rng.integers(0, 1 << 62, MILLION)
    sorting = min(_seconds(lambda: np.sort(integers)) for _ in range(REPEATS))
    for hide in ("layer", "pair"):
        known = KnownPairs(mx, everywhere=hide == "pair", ordered=False)
        for kind in ("uniform", "degree"):
            pool = partial(pool_negatives, mx, layer, known, rng, kind=kind)
            _report(f"a million {kind} negatives beside 5 M edges in 100 layers, hide={hide!r}", pool, sorting)
            own = partial(own_negatives, mx, layer[::100], 100, known, rng, kind=kind)
            _report(f"100 {kind} negatives for each of 10,000 positives, hide={hide!r}", own, sorting)
        hard = partial(_hard, small, hide)
        _report(f"100 hard negatives for each of 4,000 positives, hide={hide!r}", hard, sorting)
        _report(f"five folds of a million edges, hide={hide!r}", partial(_folds, medium, hide), sorting)
        _report(f"check of a split of a million edges, hide={hide!r}", split(medium, hide=hide).check, sorting)
    _report("all metrics of a million scores", lambda: evaluate_scores(label, score), sorting)


def _hard(mx: Multiplex, hide: str) -> object:
    return split(mx, hide=hide, negatives="hard", each=100).negatives


def _folds(mx: Multiplex, hide: str) -> object:
    return np.concatenate([parts.pairs for parts in k_fold(mx, hide=hide)])


def _report(what: str, call: Callable[[], object], sorting: float) -> None:
    """Print how long a call takes, at best, and how much memory it needs beside what it returns."""
    seconds = min(_seconds(call) for _ in range(REPEATS))
    tracemalloc.start()
    result = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = result.nbytes if isinstance(result, np.ndarray) else 0
    print(
        f"{what}: {seconds:.2f} s, {seconds / sorting:.0f}x sorting a million integers; peak {peak / 2**20:,.0f} MiB, "
        f"of which the result {size / 2**20:,.0f}",
        flush=True,
    )


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start
