"""Run `python -m faults [NAME ..]`: all scenarios, or those whose names begin so, with every fault at every step."""

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a fork does not take threads along


def others(wanted: list[str]) -> list[str]:
    """Try faults that have no step of their own: two writers, kills at random times, files that cannot grow."""
    from faults.harness import Harness
    from faults.scenarios import convert, evaluate, train

    wrong = []
    for scenario in (train(), evaluate(), convert("banditplex"), convert("csv")):
        if wanted and not scenario.name.startswith(tuple(wanted)):
            continue
        with tempfile.TemporaryDirectory(prefix="banditplex-faults-") as folder:
            harness = Harness(scenario, Path(folder) / "s")
            begin = time.monotonic()
            harness.finish(harness._fresh())
            longest = time.monotonic() - begin
            works: dict[str, Callable[[], str]] = {
                "no file may grow": lambda: f"{len(harness.limited())} sizes",  # noqa: B023
                "two writers": lambda: f"12 times, {harness.raced(12)} refused",  # noqa: B023
                "random times": lambda: f"{harness.killed_at_random(25, random.Random(0), longest)} kills",  # noqa: B023
            }
            for name, work in works.items():
                try:
                    print(f"{scenario.name:24} {name:16} {work()}", flush=True)
                except AssertionError as error:
                    wrong.append(f"{scenario.name}, {name}: {error}")
                    print(f"{scenario.name:24} {name:16} WRONG: {error}", flush=True)
    return wrong


def main(wanted: list[str]) -> int:
    """Print a row per scenario and fault; return how many did not hold."""
    import torch

    from faults.harness import Harness
    from faults.scenarios import everything

    torch.set_num_threads(1)
    wrong: list[str] = []
    for scenario in everything():
        if wanted and not scenario.name.startswith(tuple(wanted)):
            continue
        with tempfile.TemporaryDirectory(prefix="banditplex-faults-") as folder:
            harness = Harness(scenario, Path(folder) / "s")
            for fault in scenario.faults:
                begin = time.monotonic()
                found = harness.run(fault)
                wrong += found
                seconds = time.monotonic() - begin
                row = (
                    f"{scenario.name:24} {fault:10} {len(harness.steps):4} steps {len(found):3} wrong {seconds:6.1f} s"
                )
                print(row, flush=True)
                for line in found:
                    print(f"    {line}", flush=True)
    wrong += others(wanted)
    print(f"{len(wrong)} wrong.")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
