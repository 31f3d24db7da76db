"""Run `python -m faults [NAME ..]`: all scenarios, or those whose names begin so, with every fault at every step."""

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a fork does not take threads along


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
    print(f"{len(wrong)} wrong.")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
