"""Train in child processes that are killed, resume, and leave what came out for a test to compare.

Run as `python killed.py FOLDER WAY`, where WAY is random, writing or some. Children are forked from here, where
everything is imported already; one thread only, since a fork does not take others along.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import banditplex as bx
from banditplex.persistence import checkpoint
from banditplex.storage import files, tree

EPOCHS = 12
KILLS = 6


def multiplex() -> bx.Multiplex:
    """Return 40 nodes and four layers of about 60 pairs at random."""
    ends = np.random.default_rng(0).integers(0, 40, (2, 240))
    return bx.Multiplex.from_edges(*ends, np.repeat([*"abcd"], 60), num_nodes=40, self_loops="drop")


def train(folder: Path, *, resume: bool, epochs: int = EPOCHS) -> None:
    """Train, then write the predictions of all pairs of a few nodes in every layer beside the checkpoint."""
    mx = multiplex()
    model = bx.LinkPredictor(epochs=epochs, batch_size=32, width=4, k=2, patience=8, validation=0.2)
    model.fit(mx, targets=["a", "c"], checkpoint=folder, resume=resume)
    pairs = np.stack(np.triu_indices(15, 1), 1)
    scores = np.stack([model.score_pairs(pairs, layer) for layer in "ac"])
    np.save(folder / "scores.npy", scores)
    (folder / "history.txt").write_text(repr(model.history_.to_dict("records")))


def in_child(work: Callable[[], None]) -> int:
    """Start work in a process of its own and return its number."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def wait(child: int) -> bool:
    """Wait for a child; say whether it got to its end, or was killed."""
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0
        return True
    assert os.WTERMSIG(status) == signal.SIGKILL
    return False


def at_random_times(run: Path) -> int:
    """Kill again and again, some random while after an epoch's end; then let a child get to its end. Count kills."""
    rng, kept = random.Random(0), run / "checkpoint.safetensors"
    for kills in range(KILLS):
        before = version(kept)
        child = in_child(lambda: train(run, resume=before is not None))  # noqa: B023
        deadline = time.monotonic() + 60
        while kills and version(kept) == before and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.1))
        os.kill(child, signal.SIGKILL)
        if wait(child):
            return kills
    assert wait(in_child(lambda: train(run, resume=True)))
    return KILLS


def version(path: Path) -> tuple[int, int] | None:
    """Return something that changes when a file is replaced; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


MOMENTS = ("half", "fsync", "synced", "replace", "replaced", "folder")
"""Steps of replacing a file: half-way through the draft, before and after each system call."""


def while_writing(run: Path, moments: tuple[str, ...] = MOMENTS) -> int:
    """Die at each of these steps of replacing the checkpoint."""
    for number, moment in enumerate(moments):
        child = in_child(lambda: die_at(run, moment, after=1 - number % 2, first=number == 0))  # noqa: B023
        assert not wait(child)
    assert wait(in_child(lambda: train(run, resume=True)))
    return len(moments)


def die_at(folder: Path, moment: str, *, after: int, first: bool) -> None:
    """Train; at the given moment of one write, `after` whole ones, die as if the power had gone."""
    fsync, replace, whole = os.fsync, os.replace, tree.replace_file
    writes = 0

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def replace_file(path: Path, data: bytes) -> None:
        nonlocal writes
        writes += 1
        if writes > after:
            if moment == "half":
                with files.replacing(path) as file:
                    file.write(data[: len(data) // 2])
                    file.flush()
                    die()
            os.fsync, os.replace = dying_fsync, dying_replace
        whole(path, data)

    calls = 0

    def dying_fsync(file: int) -> None:
        nonlocal calls
        calls += 1
        if (moment, calls) in (("fsync", 1), ("folder", 2)):
            die()
        fsync(file)
        if (moment, calls) == ("synced", 1):
            die()

    def dying_replace(old: Path, new: Path) -> None:
        if moment == "replace":
            die()
        replace(old, new)
        if moment == "replaced":
            die()

    tree.replace_file = replace_file
    train(folder, resume=not first)


if __name__ == "__main__":
    checkpoint.EVERY = 0.0  # each epoch is saved, so that any can be killed
    place, way = Path(sys.argv[1]), sys.argv[2]
    train(place / "whole", resume=False)
    some = partial(while_writing, moments=("half", "replaced"))
    kill = {"random": at_random_times, "writing": while_writing, "some": some}[way]
    (place / "kills.json").write_text(json.dumps(kill(place / way)))
