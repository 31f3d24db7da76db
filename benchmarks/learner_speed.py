"""How the cost of training and prediction depends on the number of layers; ratios measured in one run.

    python -m benchmarks learner_speed

Layers have the same size everywhere. Times are processor time of one thread, the best of several repeats that take
turns; what counts are ratios. There is no warming up, in which policies are not asked.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from banditplex.datasets import planted
from banditplex.multiplex import Multiplex, Name
from banditplex.prediction import EDGE_FOLDS
from banditplex.predictor import LinkPredictor
from banditplex.training.config import PAPER_MODEL, Config
from banditplex.training.loop import Trainer
from banditplex.training.setup import make_trainer

NODES, EDGES = 500, 1_000


def make(num_layers: int, edges: int = EDGES) -> Multiplex:
    return planted(num_layers, num_layers // 4, 0.8, num_nodes=NODES, edges_per_layer=edges, seed=0)


def race(runs: Mapping[int, Callable[[], object]], repeats: int) -> dict[int, float]:
    """Return the least time of each run in seconds; runs take turns, so that a busy moment hits all alike."""
    least = dict.fromkeys(runs, float("inf"))
    for turn in range(repeats + 1):
        for name, run in runs.items():
            start = time.process_time()
            run()
            if turn:  # the first is for warming up
                least[name] = min(least[name], time.process_time() - start)
    return least


def table(title: str, times: dict[int, float], unit: float) -> None:
    first = next(iter(times.values()))
    print(title)
    for num_layers, value in times.items():
        print(f"{num_layers:8d} layers {value * unit:9.2f} ({value / first:5.2f}x)", flush=True)


def trainer_of(mx: Multiplex, num_targets: int, **settings: Any) -> Trainer:
    return make_trainer(mx, np.arange(num_targets), Config(patience=10_000, warmup=0, **settings).checked())


def single_target() -> None:
    for policy, sizes, bound in (("default", (16, 64, 256, 1024), 20), ("all", (16, 64, 256), 3)):
        trainers = {n: trainer_of(make(n), 1, policy=policy) for n in sizes}
        times = race({n: trainer.run_epoch for n, trainer in trainers.items()}, bound)
        steps = {n: trainer.steps_per_epoch for n, trainer in trainers.items()}
        table(f"one target, policy {policy!r}, time per step (ms)", {n: times[n] / steps[n] for n in sizes}, 1e3)


def all_targets() -> None:
    sizes = (16, 128, 512)
    trainers = {n: trainer_of(make(n, 300), n) for n in sizes}
    times = race({n: trainer.run_epoch for n, trainer in trainers.items()}, 2)
    table("all layers are targets, time per epoch and layer (ms)", {n: times[n] / n for n in sizes}, 1e3)


def questions(mx: Multiplex, layer: Name, size: int = 2_000) -> NDArray[np.int64]:
    """Return pairs (size, 2): one known edge of each fold, the others no edges; the work is the same in any layer."""
    edges = mx.edges(layer).T
    known = edges[np.unique(edges.sum(1) % EDGE_FOLDS, return_index=True)[1]]
    rng = np.random.default_rng(0)
    pairs = np.stack([rng.integers(0, NODES // 2, 2 * size), rng.integers(NODES // 2, NODES, 2 * size)], 1)
    return np.concatenate([known, pairs[~mx.has_edges(pairs, layer)]])[:size]


def prediction() -> None:
    runs = {}
    for num_layers in (16, 1024):
        mx = make(num_layers)
        layer = mx.layer_names[0]
        model = LinkPredictor(epochs=1).fit(mx, targets=[layer])
        pairs = questions(mx, layer)
        runs[num_layers] = partial(model.score_pairs, pairs, layer)
    times = race(runs, 20)
    table("prediction, time per scored pair (us)", {n: value / len(pairs) for n, value in times.items()}, 1e6)


def bookkeeping() -> None:
    mx = make(1_000)
    for num_targets, epochs in ((1, 20), (8, 8), (64, 3)):
        shares = bandit_shares(trainer_of(mx, num_targets), epochs)
        title = f"bandits at 1,000 layers, {num_targets:2d} target{'s' * (num_targets > 1)}"
        print(f"{title}: {np.median(shares):.1f} % of the time of an epoch", end=" ")
        print(f"(from {min(shares):.1f} to {max(shares):.1f})", flush=True)


def bandit_shares(trainer: Trainer, epochs: int) -> list[float]:
    """Return what part of the time of each epoch, in percent, goes to the policies; the first is for warming up."""
    policy, spent = trainer.policy, [0.0]
    assert policy is not None

    def timed(method: Callable[..., object]) -> Callable[..., object]:
        def run(*args: object, **options: object) -> object:
            start = time.process_time()
            result = method(*args, **options)
            spent[0] += time.process_time() - start
            return result

        return run

    policy.draw, policy.update = timed(policy.draw), timed(policy.update)  # type: ignore[method-assign, assignment]
    shares = []
    for _ in range(1 + epochs):
        spent[0], start = 0.0, time.process_time()
        trainer.run_epoch()
        shares.append(100 * spent[0] / (time.process_time() - start))
    return shares[1:]


class HeteroLoop(nn.Module):
    """The usual way: a convolution per layer and a Python loop over all layers, twice."""

    def __init__(self, num_layers: int, num_nodes: int, width: int) -> None:
        from torch_geometric.nn import HeteroConv, SAGEConv

        super().__init__()
        self.base = nn.Parameter(torch.randn(num_nodes, width))
        types = [("node", str(i), "node") for i in range(num_layers)]
        self.convs = nn.ModuleList(
            [HeteroConv({name: SAGEConv(width, width) for name in types}, aggr="mean") for _ in range(2)]
        )

    def forward(self, edges: dict[tuple[str, str, str], torch.Tensor], pairs: torch.Tensor) -> torch.Tensor:
        """Score pairs (n, 2) from the embeddings of all layers."""
        x: torch.Tensor = self.base
        for conv in self.convs:
            x = torch.relu(conv({"node": x}, edges)["node"])
        return (x[pairs[:, 0]] * x[pairs[:, 1]]).sum(1)


def against_hetero_conv() -> None:
    num_layers = 64
    mx = make(num_layers)
    edges = {}
    for i, name in enumerate(mx.layer_names):
        one_way = torch.from_numpy(np.array(mx.edges(name)))
        edges["node", str(i), "node"] = torch.cat([one_way, one_way.flip(0)], 1)
    model = HeteroLoop(num_layers, mx.num_nodes, PAPER_MODEL["width"])
    optimiser = torch.optim.AdamW(model.parameters())
    pairs = torch.randint(0, NODES, (64, 2))
    label = torch.ones(64)

    def step() -> None:
        optimiser.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(edges, pairs), label).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    trainer = trainer_of(mx, 1, **PAPER_MODEL)
    times = race({0: step, 1: trainer.run_epoch}, 10)
    loop, ours = times[0], times[1] / trainer.steps_per_epoch
    print(f"64 layers, one target, per step (ms): HeteroConv loop {1e3 * loop:.1f}, ours {1e3 * ours:.1f}", end="")
    print(f": {loop / ours:.1f}x faster")


def main() -> None:
    torch.set_num_threads(1)
    for part in (single_target, all_targets, prediction, bookkeeping, against_hetero_conv):
        part()
