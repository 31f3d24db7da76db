"""How long default fits take with an earlier version and with this one, in turn, in one run.

    git worktree add ../before b1e85b72
    BEFORE=../before python -m benchmarks before

Each fit is a process of its own with two threads on the CPU, after one that compiles loops. Versions take turns, twice,
and the shorter time of each counts. What counts is the ratio; where processors are busy with other work, that of
processor time.
"""

import os
import subprocess
import sys
from pathlib import Path

SETS = ("vickers", "ckm", "celegans", "euair")
REPEATS = 2
FIT = """
import sys, time, warnings
import torch
from banditplex.datasets import load_dataset
from banditplex.predictor import LinkPredictor

torch.set_num_threads(2)
warnings.simplefilter("ignore")
mx = load_dataset(sys.argv[1]).to_undirected()
LinkPredictor(device="cpu", epochs=1).fit(mx)
start, used = time.perf_counter(), time.process_time()
LinkPredictor(device="cpu").fit(mx)
print(time.perf_counter() - start, time.process_time() - used)
"""
"""What every version does; loops are compiled in the first fit."""


def seconds(repository: Path, name: str) -> list[float]:
    """Return wall-clock and processor time of a fit by the version in a folder."""
    environment = os.environ | {"PYTHONPATH": str(repository / "src")}
    done = subprocess.run(
        [sys.executable, "-c", FIT, name], cwd=repository, env=environment, check=True, stdout=subprocess.PIPE
    )
    return [float(each) for each in done.stdout.split()]


def main() -> None:
    if "BEFORE" not in os.environ:
        print("BEFORE=FOLDER compares with the version in that folder.")
        return
    before, now = Path(os.environ["BEFORE"]).resolve(), Path(__file__).resolve().parents[1]
    for name in SETS:
        turns = [(seconds(before, name), seconds(now, name)) for _ in range(REPEATS)]
        for kind, what in enumerate(("wall clock", "processor")):
            old, new = (min(turn[at][kind] for turn in turns) for at in range(2))
            print(f"{name}, {what}: before {old:.1f} s, now {new:.1f} s: {old / new:.1f} x as fast", flush=True)
