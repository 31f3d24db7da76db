"""The first default fit after an installation, which compiles loops, beside the second one.

    python -m benchmarks first_fit

Each is a process of its own, on one thread; the first finds no compiled loops. Bar: 5 s more.
"""

import os
import subprocess
import sys
import tempfile
import time

from banditplex.datasets import load_dataset
from banditplex.predictor import LinkPredictor

NAME = "vickers"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "benchmarks.first_fit"]
        first, second = (
            float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
            for _ in range(2)
        )
    print(f"{NAME}: first fit {first:.1f} s of a processor, second {second:.1f} s: {first - second:.1f} s more")


def measure() -> None:
    """Print the processor's time of a fit."""
    mx = load_dataset(NAME)
    start = time.process_time()
    LinkPredictor(device="cpu").fit(mx)
    print(time.process_time() - start)


if __name__ == "__main__":
    measure()
