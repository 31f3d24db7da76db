"""The generator of planted multiplexes: time beside one sort of as many keys, memory beside the result."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from banditplex.datasets import planted

T = TypeVar("T")
SIZES = ((1_000, 10_000), (2_000, 50_000))  # layers, edges per layer (and nodes)


def main() -> None:
    for num_layers, edges_per_layer in SIZES:
        command = [sys.executable, "-m", "benchmarks.datasets", str(num_layers), str(edges_per_layer)]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="")


def measure(num_layers: int, edges_per_layer: int) -> None:
    """Print a line about one size; in a process of its own, since memory is measured by its peak."""
    before = _peak()
    size = edges_per_layer
    seconds, mx = _timed(lambda: planted(num_layers, num_layers // 5, 0.8, num_nodes=size, edges_per_layer=size))
    memory = (_peak() - before) / mx.edge_index.nbytes
    keys = np.random.default_rng(0).integers(0, 1 << 62, mx.num_edges)
    sorting, _ = _timed(lambda: keys.sort())
    print(
        f"planted, {mx.num_edges / 1e6:,.0f} M edges in {num_layers:,} layers: {seconds / sorting:.1f}x the time of "
        f"sorting as many integers, peak memory {memory:.2f}x the result ({seconds:.1f} s, {_peak() / 2**30:.1f} GiB)"
    )


def _timed(call: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:3]))
