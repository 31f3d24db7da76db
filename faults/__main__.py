"""Run every command with every fault at every step, kill it at random times, and change what it reads or writes to.

`python -m faults` does it all; names choose scenarios that begin so, or `tamper`, `links` or `sizes`.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a fork does not take threads along

KILLS = {"train": 25, "evaluate": 25, "compare": 20, "convert banditplex --force": 25, "convert csv --force": 25}
"""Kills at random times, of scenarios that have more than the others."""
FEW = 3
"""Kills at random times of other scenarios."""
RACED = ("train", "evaluate", "convert banditplex --force", "convert csv --force")
"""Scenarios that are started twice at once, and where no file may grow."""
TAMPERED, LINKS = {"model": 500, "run": 500}, 200
"""How many folders are tampered with, and how many links are planted."""


@contextmanager
def _place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="banditplex-faults-") as folder:
        yield Path(folder)


def _told(name: str, fault: str, work: Callable[[], tuple[str, list[str]]]) -> list[str]:
    """Print a row: what was tried, how often, and what did not hold; return the latter."""
    begin = time.monotonic()
    try:
        tried, wrong = work()
    except AssertionError as error:
        tried, wrong = "not finished", [f"{name}, {fault}: {error}"]
    print(f"{name:28} {fault:16} {tried:28} {len(wrong):3} wrong {time.monotonic() - begin:7.1f} s", flush=True)
    for line in wrong:
        print(f"    {line}", flush=True)
    return wrong


def scenarios(wanted: tuple[str, ...], seed: int, faults: list[str] | None) -> list[str]:
    """Try all faults of scenarios whose names begin with one that is wanted; return what did not hold."""
    from faults.harness import Harness
    from faults.scenarios import everything

    wrong: list[str] = []
    for scenario in everything():
        if not scenario.name.startswith(wanted):
            continue
        with _place() as folder:
            harness = Harness(scenario, folder / "s")
            kills, rng = KILLS.get(scenario.name, FEW), random.Random(seed)
            works: dict[str, Callable[[], tuple[str, list[str]]]] = {
                fault: lambda fault=fault: (f"{len(harness.steps)} steps", harness.run(fault))  # type: ignore[misc]  # noqa: B023
                for fault in scenario.faults
            }
            works["random times"] = lambda: (f"{harness.killed_at_random(kills, rng)} kills", [])  # noqa: B023
            if scenario.name in RACED:
                works["no file may grow"] = lambda: (f"{len(harness.limited())} sizes", [])  # noqa: B023
                works["two writers"] = lambda: (f"12 times, {harness.raced(12)} refused", [])  # noqa: B023
            for fault, work in works.items():
                if faults is None or fault in faults:
                    wrong += _told(scenario.name, fault, work)
    return wrong


def others(wanted: tuple[str, ...], seed: int) -> list[str]:
    """Tamper with folders, plant links, give inputs of unusual size; return what did not hold."""
    from faults.links import planted
    from faults.sizes import CASES, sizes
    from faults.tamper import tampered

    wrong: list[str] = []
    for kind, count in TAMPERED.items():
        if "tamper".startswith(wanted):
            with _place() as folder:
                work = lambda: (f"{count} folders", list(tampered(kind, count, seed, folder)))  # noqa: B023, E731
                wrong += _told("tamper", kind, work)
    if "links".startswith(wanted):
        with _place() as folder:
            wrong += _told("links", "all commands", lambda: (f"{LINKS} links", list(planted(LINKS, seed, folder))))
    if "sizes".startswith(wanted):
        with _place() as folder:
            wrong += _told("sizes", "in a terminal", lambda: (f"{len(CASES)} inputs", sizes(folder)))
    return wrong


def main() -> int:
    """Print a row per scenario and fault; return 1 if something did not hold."""
    import torch

    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("names", nargs="*", help="scenarios that begin so, tamper, links, sizes (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn at random (default: %(default)s)")
    parser.add_argument("--fault", action="append", help="only this fault of the scenarios, such as 'random times'")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    wanted = tuple(asked.names) or ("",)
    wrong = scenarios(wanted, asked.seed, asked.fault)
    wrong += others(wanted, asked.seed) if asked.fault is None else []
    print(f"{len(wrong)} wrong.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
