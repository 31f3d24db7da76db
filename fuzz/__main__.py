"""Fuzz every reader and loader; the status is 1 if something was found."""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from fuzz.runner import Finding, run
from fuzz.targets import targets


def main() -> int:
    """Run the fuzzer and print what was found, each kind once."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000, help="number of inputs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="inputs are the same for the same seed")
    parser.add_argument("--start", type=int, default=0, help="number of the first input, to repeat a finding")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (default: %(default)s)")
    parser.add_argument("--only", help="targets, joined by commas")
    parser.add_argument("--keep", type=Path, help="folder for inputs with a finding")
    asked = parser.parse_args()
    chosen = targets()
    if asked.only:
        unknown = sorted(set(asked.only.split(",")) - set(chosen))
        if unknown:
            parser.error(f"unknown target {unknown[0]!r}; known: {', '.join(chosen)}")
        chosen = {name: chosen[name] for name in asked.only.split(",")}
    begin, kinds, first = time.monotonic(), Counter[str](), dict[str, Finding]()
    options = {"inputs": asked.inputs, "seed": asked.seed, "start": asked.start, "keep": asked.keep, "jobs": asked.jobs}
    for each in run(chosen, **options):
        kind = f"{each.target}: {each.what}"
        kinds[kind] += 1
        if first.setdefault(kind, each) is each:
            print(f"input {each.number}, {kind}", flush=True)
    seconds = time.monotonic() - begin
    print(f"{asked.inputs:,} inputs for {len(chosen)} readers in {seconds:.0f} s, seed {asked.seed}: ", end="")
    print(f"{kinds.total():,} findings of {len(kinds):,} kinds." if kinds else "each was read, or refused in one line.")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
