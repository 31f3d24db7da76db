"""Change the source in small ways, one at a time, and see whether the tests of that part notice."""

import argparse
import csv
import hashlib
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a fork does not take threads along

from mutants.operators import Mutant, mutants_of
from mutants.room import FAILED, End, Task, make_room, preload, run

ROOT = Path(__file__).resolve().parents[1]
AREAS = ("bandits", "evaluation", "pairs", "io")
COLUMNS = ["mutant", "source", "outcome", "test", "tests", "seconds", "before", "after"]
BASELINE = 240
"""Seconds for the unchanged tests of one file."""


class Test(NamedTuple):
    """A test that passes on the unchanged source: its time, and the lines that it runs."""

    seconds: float
    lines: frozenset[tuple[str, int]]


def sources(area: str) -> list[Path]:
    """Return the source files of an area."""
    return sorted((ROOT / "src/banditplex" / area).glob("*.py"))


def sample(size: int, seed: int, areas: tuple[str, ...]) -> list[Mutant]:
    """Return mutants of some areas, drawn at random without replacement."""
    every = [
        each for area in areas for path in sources(area)
        for each in mutants_of(str(path.relative_to(ROOT)), path.read_text())
    ]  # fmt: skip
    return random.Random(seed).sample(every, min(size, len(every)))


def baseline(room: Path, areas: tuple[str, ...], jobs: int) -> tuple[dict[str, Test], frozenset[str]]:
    """Run the tests of some areas unchanged; return those that pass, and the names of all others."""
    files = [f"tests/{area}/{path.name}" for area in areas for path in sorted((ROOT / "tests" / area).glob("test_*"))]
    folders = tuple(f"src/banditplex/{area}" for area in areas)  # doctests are in all of their files
    tasks = [Task(file, [file], None, frozenset(), BASELINE, traced=folders) for file in [*files, *folders]]
    found, bad = dict[str, Test](), set[str]()
    for end in run(tasks, [room] * jobs):
        for row in end.report:
            if row["outcome"] == "passed":
                found[row["test"]] = Test(row["seconds"], frozenset((file, at) for file, at in row["lines"]))
            elif row["outcome"] != "skipped":
                bad.add(row["test"])
        if end.status not in (0, 1, 5):
            bad.add(end.key)
    return found, frozenset(bad)


def task_of(mutant: Mutant, tests: dict[str, Test], left_out: frozenset[str], patience: float) -> Task:
    """Return the run of the tests that could notice a mutant, the quick ones first, until these take `patience`."""
    path = Path(mutant.file)
    chosen = {name: test for name, test in tests.items() if any((mutant.file, at) in test.lines for at in mutant.lines)}
    if not chosen:  # at import, in another process, or never: all tests of the area
        chosen = {name: test for name, test in tests.items() if path.parent.name in Path(name.split("::")[0]).parts}
        nearest = {name for name, test in chosen.items() if any(file == mutant.file for file, _ in test.lines)}
    else:
        nearest = set(chosen)
    order = sorted(chosen, key=lambda name: (name not in nearest, chosen[name].seconds))
    total = list(accumulate(chosen[name].seconds for name in order))
    order = [name for name, until in zip(order, total, strict=True) if until <= patience] or order[:1]
    files = list(dict.fromkeys(name.split("::")[0] for name in order if name.startswith("tests")))
    files += sorted({str(Path(name.split("::")[0]).parent) for name in order if name.startswith("src")})  # doctests
    seconds = 30 + 8 * sum(chosen[name].seconds for name in order)
    change = mutant.file, mutant.apply((ROOT / mutant.file).read_text())
    return Task(mutant, files, order, left_out, seconds, change)


def row_of(end: End) -> dict[str, object]:
    """Return the row of the table for a mutant that was tried."""
    mutant: Mutant = end.key
    failed = next((row["test"] for row in end.report if row["outcome"] in ("failed", "no collection")), "")
    outcome = {None: "too long", 0: "survived", 5: "survived", 4: "not run", FAILED: "not run"}.get(
        end.status, "killed"
    )
    outcome = "killed" if failed and outcome == "not run" else outcome
    return {
        "mutant": mutant.name, "source": digest(mutant.file), "outcome": outcome, "test": failed,
        "tests": len(end.report), "seconds": round(end.seconds, 1), "before": mutant.before, "after": mutant.after,
    }  # fmt: skip


def digest(file: str) -> str:
    """Return a short checksum of a source file: rows of another version do not count."""
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()[:8]


def kept(path: Path, mutants: list[Mutant], *, survivors: bool) -> dict[str, dict[str, object]]:
    """Return the rows of a table that still hold, by mutant; with `survivors`, without those that survived."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        rows: dict[str, dict[str, object]] = {row["mutant"]: dict(row) for row in csv.DictReader(file)}
    known = {each.name: digest(each.file) for each in mutants}
    return {
        name: row for name, row in rows.items()
        if known.get(name) == row["source"] and not (survivors and row["outcome"] in ("survived", "not run"))
    }  # fmt: skip


def difference(mutant: Mutant) -> Iterator[str]:
    """Yield the lines that a mutant changes, before and after."""
    text = (ROOT / mutant.file).read_text()
    old, new = text.splitlines(), mutant.apply(text).splitlines()
    first, last = mutant.begin[0] - 1, mutant.end[0]
    yield f"{mutant.file}:{mutant.begin[0]} ({mutant.operator})"
    yield from (f"    - {line.strip()}" for line in old[first:last])
    yield from (f"    + {line.strip()}" for line in new[first : last + len(new) - len(old)])


def main() -> int:
    """Try a sample of mutants; the status is 1 if fewer are killed than asked for."""
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("--size", type=int, default=400, help="number of mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: %(default)s)")
    parser.add_argument("--areas", default=",".join(AREAS), help="folders of the source (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once (default: %(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("mutants.csv"), help="table; rows that it has are not repeated"
    )
    parser.add_argument("--survivors", action="store_true", help="try those again that survived")
    parser.add_argument("--patience", type=float, default=60, help="seconds of tests per mutant (default: %(default)s)")
    parser.add_argument("--at-least", type=float, default=85, help="percentage that must be killed (default: 85)")
    asked = parser.parse_args()
    areas = tuple(asked.areas.split(","))
    mutants, begin = sample(asked.size, asked.seed, areas), time.monotonic()
    rows = kept(asked.out, mutants, survivors=asked.survivors)
    waiting = [each for each in mutants if each.name not in rows]
    if waiting:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix="banditplex-mutants-") as place,
            asked.out.open("w", newline="") as file,
        ):
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            table.writerows(rows.values())
            file.flush()
            rooms = [Path(place).resolve() / str(number) for number in range(asked.jobs)]
            make_room(ROOT, rooms[0], asked.jobs)
            preload()
            tests, left_out = baseline(rooms[0], areas, asked.jobs)
            for room in rooms[1:]:  # with the loops that were compiled
                shutil.copytree(rooms[0], room)
            print(f"{len(tests):,} tests pass unchanged after {time.monotonic() - begin:.0f} s; left out: ", end="")
            print(", ".join(sorted(left_out)) or "none", flush=True)
            if not tests:
                sys.exit(f"mutants: no test passes on the unchanged source; see python -m pytest tests/{areas[0]}")
            for end in run((task_of(each, tests, left_out, asked.patience) for each in waiting), rooms):
                row = rows[end.key.name] = row_of(end)
                table.writerow(row)
                file.flush()
                if len(rows) % 20 == 0:
                    print(f"{len(rows)} of {len(mutants)} after {time.monotonic() - begin:.0f} s", flush=True)
    for each in mutants:
        if rows[each.name]["outcome"] in ("survived", "not run"):
            print("\n".join(difference(each)))
    return summary(mutants, rows, asked.at_least)


def summary(mutants: list[Mutant], rows: dict[str, dict[str, object]], at_least: float) -> int:
    """Print how many were killed, by area and operator; return 1 if these are fewer than asked for."""
    every, dead = Counter[str](), Counter[str]()
    for each in mutants:
        for group in (Path(each.file).parent.name, each.operator, "all"):
            every[group] += 1
            dead[group] += rows[each.name]["outcome"] in ("killed", "too long")
    for group in every:
        print(f"{group:12} {dead[group]:4} of {every[group]:4} killed, {100 * dead[group] / every[group]:5.1f} %")
    return int(100 * dead["all"] < at_least * every["all"])


if __name__ == "__main__":
    sys.exit(main())
