"""How long short commands take, as processor time beside that of `import torch`, and a training from start to page.

    python -m benchmarks start

Each command is a process of its own, the best of three in turn; loops and modules are compiled before. Bars, where
`import torch` takes 2 s of a processor: an error 1.5 s, `report` 3 s, `predict` three times `import torch`; 10 s
of wall clock until the page of `train vickers` is written, on two quiet cores. `train ckm` has twice the edges.
"""

import os
import subprocess
import sys
import tempfile
import time

DATA, LAYER = "vickers", "get on with"
REPEATS = 3
TRAIN = ["train", DATA, "-o", "run", "--force"]
COMMANDS = {
    "import torch": ["-c", "import torch"],
    "train without -o": ["-m", "banditplex", "train", DATA],
    "train --epochs 0": ["-m", "banditplex", *TRAIN, "--epochs", "0"],
    "train --target nope": ["-m", "banditplex", *TRAIN, "--target", "nope"],
    "predict --layer nope": ["-m", "banditplex", "predict", "run", "--layer", "nope"],
    "report": ["-m", "banditplex", "report", "run"],
    "report --layer": ["-m", "banditplex", "report", "run", "--layer", LAYER, "-o", "layer.html", "--force"],
    "predict --top 3": ["-m", "banditplex", "predict", "run", "--layer", LAYER, "--top", "3"],
    "train vickers": ["-m", "banditplex", *TRAIN],
    "train ckm": ["-m", "banditplex", "train", "ckm", "-o", "ckm", "--force"],
}


def seconds(words: list[str], folder: str) -> tuple[float, float]:
    """Return processor and wall-clock time of Python with some words, which it keeps compiled."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, start = os.times(), time.perf_counter()
    done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, check=False)
    wall, after = time.perf_counter() - start, os.times()
    assert done.returncode in (0, 2), done.stderr.decode()  # 2: a mistake in the command
    return after.children_user - before.children_user + after.children_system - before.children_system, wall


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("train vickers", *COMMANDS):  # most others need a run
            seconds(COMMANDS[name], folder)
        runs = [{name: seconds(words, folder) for name, words in COMMANDS.items()} for _ in range(REPEATS)]
    torch = min(run["import torch"][0] for run in runs)
    print(f"{'':22}{'processor':>10}{'x import torch':>16}{'wall clock':>12}")
    for name in COMMANDS:
        used, wall = (min(run[name][kind] for run in runs) for kind in range(2))
        print(f"{name:22}{used:>8.1f} s{used / torch:>16.2f}{wall:>10.1f} s", flush=True)
