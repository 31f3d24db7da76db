"""Default fits and predictions on real data, beside what one could have instead, in one run.

    python -m benchmarks fits

Fits: pooled boosted trees (`pooled-trees`). Predictions: scipy computing structural features of the same pairs. All on
the CPU, as wall-clock time; what counts are ratios. Loops are compiled before, which happens once per installation.
Bars on two cores: up to 5,000 edges at most 10 s or 5 x the trees, up to 20,000 at most 5 x, from there on 3 x; two
threads at least 1.6 x as fast as one on large sets; predictions at most 3 x scipy. Fits to the same three targets of 15
to 1,000 layers of the same size: at 1,000 at most 1.5 x as long as at 15. Cuts of fao, 4,400 to 58,000 edges, have many
targets for their size.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from banditplex.baselines import BASELINES
from banditplex.datasets import groups, load_dataset
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.visibility import Visibility
from banditplex.predictor import LinkPredictor
from tests.baselines.features import StructuralFeatures

SETS = ("vickers", "ckm", "euair", "celegans", "arxiv", "fao", "sacchcere")
CUTS = ((113, 20), (74, 4), (51, 1), (110, 1))  # of fao: so many nodes, and every so many layers
GROUPS = (15, 60, 200, 1_000)  # layers of `groups`, of which three are targets
PAIRS = 1_000_000


def seconds(run: Callable[[], object], threads: int) -> float:
    """Return how long a function takes with so many threads."""
    torch.set_num_threads(threads)
    with threadpool_limits(threads):
        start = time.perf_counter()
        run()
        return time.perf_counter() - start


def fits(name: str, mx: Multiplex, targets: list[Name] | None = None) -> None:
    """Print how long fits to all layers of a multiplex take, or to some."""
    LinkPredictor(device="cpu", epochs=1).fit(mx, targets)  # loops are compiled here
    trees = seconds(lambda: BASELINES["pooled-trees"]().fit(mx, targets), 2)
    ours, alone = (seconds(lambda: LinkPredictor(device="cpu").fit(mx, targets), threads) for threads in (2, 1))
    print(f"{name} ({mx.num_edges:,} edges), two threads: {ours:.1f} s, trees {trees:.1f} s:", end=" ")
    print(f"{ours / trees:.1f} x;", end=" ")
    print(f"one thread {alone:.1f} s: two are {alone / ours:.2f} x as fast", flush=True)


def cut(mx: Multiplex, nodes: int, every: int) -> Multiplex:
    """Return some nodes of a multiplex, evenly spaced, and every so many of its layers in the order of their size."""
    by_size = np.argsort(-mx.layer_sizes, kind="stable")[::every]
    spaced = np.linspace(0, mx.num_nodes - 1, nodes).astype(int)
    part = mx.subset([mx.layer_names[layer] for layer in by_size.tolist()], mx.node_names[spaced].tolist())
    return part.subset([name for name, size in zip(part.layer_names, part.layer_sizes, strict=True) if size])


def predictions(name: str = "fao") -> None:
    """Print how long predictions of random pairs of the largest layer take."""
    mx = load_dataset(name).to_undirected()
    target = int(np.argmax(mx.layer_sizes))
    layer = mx.layer_names[target]
    model = LinkPredictor(device="cpu", epochs=1).fit(mx, targets=[layer])
    pairs = np.random.default_rng(0).integers(0, mx.num_nodes, (PAIRS, 2))
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], 1)
    features, layers = StructuralFeatures(mx, Visibility("layer")), model._fitted._choose(0, 0)[0]

    def by_scipy() -> None:
        features.pooled(pairs, target)
        for other in layers.tolist():
            features.other(pairs, target, other)

    scored, listed = seconds(lambda: model.score_pairs(mx.node_names[pairs], layer), 2), seconds(by_scipy, 2)
    print(f"{name}, {len(pairs):,} pairs: {scored:.1f} s, features of {1 + len(layers)} layers by scipy", end=" ")
    print(f"{listed:.1f} s: {scored / listed:.2f} x", flush=True)


def main() -> None:
    predictions()
    for size in GROUPS:
        mx = groups(size)
        fits(f"three targets of {size} layers", mx, list(mx.layer_names[:11:5]))
    for nodes, every in CUTS:
        mx = cut(load_dataset("fao").to_undirected(), nodes, every)
        fits(f"{mx.num_layers} layers of fao, {mx.num_nodes} nodes", mx)
    for name in SETS:
        fits(name, load_dataset(name).to_undirected())
