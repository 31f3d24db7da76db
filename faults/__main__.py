"""Run every command with every fault at every step, kill it at random times, and change what it reads or writes to.

`python -m faults` does it all; names choose scenarios that begin so, or `tamper`, `links` or `sizes`.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a fork does not take threads along

KILLS = {"train": 25, "evaluate": 25, "compare": 20, "convert banditplex --force": 25, "convert csv --force": 25}
"""Kills at random times, of scenarios that have more than the others."""
FEW = 3
"""Kills at random times of other scenarios."""
RACED = ("train", "evaluate", "convert banditplex --force", "convert csv --force")
"""Scenarios that are started twice at once, and where no file may grow."""
TAMPERED, LINKS = {"model": 500, "run": 500}, 200
"""How many folders are tampered with, and how many links are planted."""
PART = 50
"""How many folders one process tampers with."""


class Piece(NamedTuple):
    """One row: a scenario and a fault; or `tamper`, `links`, `sizes` and a kind, and the number of the first."""

    name: str
    fault: str
    first: int = 0


def pieces(wanted: tuple[str, ...], faults: list[str] | None) -> list[Piece]:
    """Return all that is tried, of what begins with a name that is wanted; what takes longest comes first."""
    from faults.scenarios import everything
    from faults.sizes import CASES

    found = [Piece("sizes", case.name, number) for number, case in enumerate(CASES)]
    for scenario in everything():
        more = ("no file may grow", "two writers") if scenario.name in RACED else ()
        found += [Piece(scenario.name, fault) for fault in (*scenario.faults, "random times", *more)]
    found += [Piece("tamper", kind, first) for kind, count in TAMPERED.items() for first in range(0, count, PART)]
    found.append(Piece("links", "all commands"))
    return [each for each in found if each.name.startswith(wanted) and (faults is None or each.fault in faults)]


def attempt(piece: Piece, seed: int, place: Path) -> tuple[str, list[str]]:
    """Try a piece in a folder; return how much was tried, and what did not hold."""
    from faults.harness import Harness
    from faults.links import planted
    from faults.scenarios import everything
    from faults.sizes import CASES, size
    from faults.tamper import tampered

    if piece.name == "sizes":
        return size(CASES[piece.first], place)
    if piece.name == "tamper":
        return f"{PART} folders from {piece.first}", list(tampered(piece.fault, PART, seed, place, piece.first))
    if piece.name == "links":
        return f"{LINKS} links", list(planted(LINKS, seed, place))
    (scenario,) = (each for each in everything() if each.name == piece.name)
    harness = Harness(scenario, place / "s")
    match piece.fault:
        case "random times":
            kills = harness.killed_at_random(KILLS.get(piece.name, FEW), random.Random(seed))
            return f"{kills} kills", []
        case "no file may grow":
            return f"{len(harness.limited())} sizes", []
        case "two writers":
            return f"12 times, {harness.raced(12)} refused", []
    return f"{len(harness.steps)} steps", harness.run(piece.fault)


def told(piece: Piece, seed: int) -> list[str]:
    """Try a piece and print its row: what was tried, how often, and what did not hold; return the latter."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="banditplex-faults-") as folder:
        try:
            tried, wrong = attempt(piece, seed, Path(folder))
        except Exception as error:
            tried, wrong = "not finished", [f"{piece.name}, {piece.fault}: {type(error).__name__}: {error}"]
    row = f"{piece.name:28} {piece.fault:36} {tried:28} {len(wrong):3} wrong {time.monotonic() - begin:7.1f} s"
    print("\n    ".join([row, *wrong]), flush=True)
    return wrong


def try_all(chosen: Iterable[Piece], seed: int, jobs: int) -> Iterator[str]:
    """Try pieces, `jobs` at once; yield what did not hold."""
    if jobs == 1:
        for piece in chosen:
            yield from told(piece, seed)
        return
    with ProcessPoolExecutor(jobs, get_context("fork")) as pool:
        for done in as_completed([pool.submit(told, piece, seed) for piece in chosen]):
            yield from done.result()


def main() -> int:
    """Print a row for each piece; return 1 if something did not hold."""
    import torch

    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("names", nargs="*", help="scenarios that begin so, tamper, links, sizes (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn at random (default: %(default)s)")
    parser.add_argument("--fault", action="append", help="only this fault or kind, such as 'random times'")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (default: %(default)s)")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    chosen = pieces(tuple(asked.names) or ("",), asked.fault)
    wrong = list(try_all(chosen, asked.seed, asked.jobs))
    print(f"{len(chosen)} rows, {len(wrong)} wrong.")
    return int(bool(wrong) or not chosen)


if __name__ == "__main__":
    sys.exit(main())
