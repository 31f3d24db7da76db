"""Training on one GPU: pairs per second, memory, and time per step against the number of layers.

    python -m benchmarks gpu

One target's pairs are its edges and as many negatives. The multiplex is `planted` with 1,000 layers of 100,000 edges
among 10,000 of 1 M nodes, 100 M edges in all; all layers are targets, k = 1, two hops with fan-outs 10 and 5. An epoch
includes planning and negatives. The bandwidth is that of copying 1 GiB in the same run. Bars on an H200: 20 M pairs per
second at width 16, 15 M at width 64, 12 M by the default; time per step from 16 to 4,096 layers x 1.15.
"""

import time
from functools import partial
from typing import Any

import numpy as np
import torch

from banditplex.backend import choice
from banditplex.bandits import Policy
from banditplex.datasets import planted
from banditplex.multiplex import Multiplex
from banditplex.training.config import Config
from banditplex.training.loop import Trainer
from banditplex.training.setup import make_trainer
from benchmarks._steps import Steps

MODEL: dict[str, Any] = {"k": 1, "evidence": "drawn", "fanout": (10, 5), "warmup": 0, "patience": 10_000}
SIZES = (16, 64, 256, 1024, 4096)
STEPS = 12


def bandwidth(device: torch.device) -> float:
    """Return the bytes read and written per second when 1 GiB is copied."""
    source = torch.empty(1 << 30, dtype=torch.uint8, device=device)
    copy, best = torch.empty_like(source), float("inf")
    for _ in range(10):
        best = min(best, seconds(lambda: copy.copy_(source), device))
    return 2 * len(source) / best


def seconds(run: Any, device: torch.device) -> float:
    """Return how long a function takes on a device."""
    torch.cuda.synchronize(device)
    start = time.perf_counter()
    run()
    torch.cuda.synchronize(device)
    return time.perf_counter() - start


def trainer_of(mx: Multiplex, device: torch.device, **settings: Any) -> Trainer:
    """Return a trainer of all layers."""
    return make_trainer(mx, np.arange(mx.num_layers), Config(device=str(device), **settings).checked())


def throughput(mx: Multiplex, device: torch.device, copied: float, **settings: Any) -> None:
    """Print how fast a model trains on a multiplex."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    made: list[Trainer] = []
    set_up = seconds(lambda: made.append(trainer_of(mx, device, **settings)), device)
    trainer, epochs = made[0], list[Steps]()
    planning = seconds(lambda: epochs.append(Steps(trainer)), device)
    epochs[0].take(4)  # kernels are compiled here
    step = seconds(lambda: epochs[0].take(STEPS), device) / STEPS
    pairs, steps = 2 * len(trainer.data.train_edges), len(epochs[0])
    whole = step * steps + planning
    peak = torch.cuda.max_memory_allocated(device) / 2**30
    print(
        f"  {settings}: {pairs / whole / 1e6:.1f} M pairs/s, epoch {whole:.1f} s ({steps} steps of {step * 1e3:.0f} "
        f"ms, planning {planning:.2f} s), set-up {set_up:.1f} s, {peak:.1f} GiB; in the time of one pair, "
        f"{copied * whole / pairs / 1e3:.0f} kB can be copied",
        flush=True,
    )


def play(policy: Policy, rounds: int) -> float:
    """Let all instances of a policy draw and learn from random losses; return seconds per round."""
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    for _ in range(rounds):
        draw = policy.draw(rng, np.arange(policy.num_instances))
        policy.update(draw, rng.random(draw.arms.shape))
    return (time.perf_counter() - start) / rounds


def by_layers(device: torch.device, **settings: Any) -> None:
    """Print time per step against the number of layers, after 200 rounds of the policies, all with equal steps."""
    print(f"  {settings}, 16 targets per step, after 200 rounds:")
    first = 0.0
    for size in SIZES:
        mx = planted(size, size // 4, 0.8, num_nodes=100_000, edges_per_layer=10_000, active_nodes=1_000)
        trainer = trainer_of(mx, device, targets_per_step=16, batch_size=5_000, **settings)  # 4 rounds
        assert trainer.policy is not None
        per_round, steps = play(trainer.policy, 200), Steps(trainer)
        steps.take(8)
        step = min(seconds(partial(steps.take, STEPS), device) / STEPS for _ in range(3))
        first = first or step
        print(
            f"    {size:5d} layers: {steps.num_pairs:,} pairs, {step * 1e3:6.1f} ms a step (x {step / first:.2f}); "
            f"all policies: {per_round * 1e3:.1f} ms per round",
            flush=True,
        )


def main(num_layers: int = 1_000) -> None:
    if not torch.cuda.is_available():
        print("There is no GPU.")
        return
    device = torch.device("cuda", 0)
    copied = bandwidth(device)
    print(f"{torch.cuda.get_device_name(device)}: copies {copied / 1e12:.2f} TB/s; Triton: {choice.TRITON}")
    start = time.perf_counter()
    mx = planted(num_layers, num_layers // 4, 0.8, num_nodes=1_000_000, edges_per_layer=100_000, active_nodes=10_000)
    print(f"{mx.num_edges:,} edges in {num_layers} layers, made in {time.perf_counter() - start:.0f} s")
    for width in (16, 64):
        throughput(mx, device, copied, width=width, **MODEL)
    throughput(mx, device, copied, warmup=0)
    by_layers(device, width=16, **MODEL)
    by_layers(device, warmup=0)
