"""What comes before the first step, and before each epoch, beside one numpy sort of the same keys, in one run.

    python -m benchmarks setup

There is one key per arc, two arcs per edge: (layer x nodes + node) x nodes + neighbour, as 64-bit integers in random
order. Times are the best of a few rounds in which all take turns, so that a busy machine slows all alike. With the
default settings, the graph has the union of all layers as one more layer, so that it has about twice as many arcs as
there are keys. The bars: set-up of 10 M edges takes at most 3 s on a GPU, and 3 x the sort on two cores; planning takes
at most 5 % of an epoch.
"""

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from banditplex.multiplex import Multiplex
from banditplex.nn.view import pack
from banditplex.pairs.visibility import Visibility
from banditplex.training.config import Config
from banditplex.training.data import prepare
from banditplex.training.loop import Trainer
from banditplex.training.setup import make_trainer
from benchmarks._steps import Steps

SIZES = {1_000_000: 4, 10_000_000: 2}
"""Edges, and rounds."""
LAYER_EDGES, NUM_NODES = 100_000, 10_000
STEPS = 8
"""Steps whose time is taken for that of all steps of an epoch."""


def make(num_edges: int) -> Multiplex:
    """Return layers of random edges: few edges are in two of them, so that the union is about as large as it can be."""
    rng = np.random.default_rng(0)
    source, destination = rng.integers(0, NUM_NODES, (2, num_edges))
    layer = np.repeat(np.arange(num_edges // LAYER_EDGES), LAYER_EDGES)
    return Multiplex.from_edges(source, destination, layer, num_nodes=NUM_NODES, self_loops="drop")


def arc_keys(mx: Multiplex) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the keys of all arcs in random order."""
    ends = np.concatenate([mx.edge_index, mx.edge_index[::-1]], axis=1)
    keys = (np.tile(mx.edge_layer, 2) * mx.num_nodes + ends[0]) * mx.num_nodes + ends[1]
    return np.random.default_rng(1).permutation(keys)


def seconds(run: Callable[[], object], device: torch.device) -> float:
    gc.collect()
    start = time.perf_counter()
    kept = run()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    spent = time.perf_counter() - start
    del kept
    return spent


def race(runs: dict[str, Callable[[], object]], rounds: int, device: torch.device) -> dict[str, float]:
    """Return the least time of each run; runs take turns."""
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            least[name] = min(least[name], seconds(run, device))
    return least


def measure(mx: Multiplex, rounds: int, device: torch.device) -> None:
    keys, targets = arc_keys(mx), np.arange(mx.num_layers)
    settings = Config(device=str(device)).checked()
    trainer = make_trainer(mx, targets, settings.checked(evidence="drawn"))
    order = trainer._plan(trainer.rng["batches"]).edges(device)[0]
    layers, every = (Visibility("edge", mx.directed, evidence=evidence) for evidence in (False, True))
    runs: dict[str, Callable[[], object]] = {
        "numpy sort of the keys": lambda: np.sort(keys),
        "graph of the layers": lambda: pack(mx, device, layers),
        "graph of layers and union, with its index": lambda: pack(mx, device, every),
        "set-up: the latter, validation edges, negatives": lambda: prepare(mx, targets, settings),
        "plan of an epoch": lambda: trainer._plan(trainer.rng["batches"]).edges(device),
        "negatives of an epoch, pairs in its order": lambda: trainer.supply.epoch(0, order, trainer.rng["negatives"]),
    }
    times = race(runs, rounds, device)
    sort = next(iter(times.values()))
    print(f"{mx.num_edges:,} edges, {mx.num_layers} layers, {mx.num_nodes:,} nodes, on {device.type}:")
    for name, value in times.items():
        print(f"  {name:50} {value:8.3f} s {value / sort:7.2f} x", flush=True)
    planning = sum(list(times.values())[-2:])
    epoch = planning + steps_time(trainer, device)
    print(f"  planning and negatives, share of an epoch of about {epoch:,.1f} s: {100 * planning / epoch:.1f} %")


def steps_time(trainer: Trainer, device: torch.device) -> float:
    """Return about how long the steps of an epoch take, from a few of them."""
    steps = Steps(trainer)
    steps.take()  # for warming up
    return seconds(lambda: steps.take(STEPS), device) / STEPS * len(steps)


def main() -> None:
    devices = [torch.device("cpu")] + [torch.device("cuda", 0)] * torch.cuda.is_available()
    for num_edges, rounds in SIZES.items():
        mx = make(num_edges)
        for device in devices:
            measure(mx, rounds, device)
