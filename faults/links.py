"""Links to files of somebody else, in every place that a command might write to."""

import os
import random
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from faults.harness import Harness, call
from faults.scenarios import everything

TEXT = "precious\n"
FORMS = ("{}", "{}.new", ".{}.new", "{}.tmp", "{}.draft", ".{}.mixed")
"""Names of a file and of what earlier versions wrote before it took its place."""
LOCKS = ("{}.lock", ".{}.lock")


def plant(outside: Path, folder: Path, names: Iterable[str]) -> list[Path]:
    """Put links to a file each in `outside` where there is nothing yet; every third of those files does not exist."""
    outside.mkdir(exist_ok=True)
    folder.mkdir(exist_ok=True, parents=True)
    planted = []
    for number, name in enumerate(names):
        if not (folder / name).exists():
            if number % 3:
                (outside / f"{number} {name}").write_text(TEXT)
            (folder / name).symlink_to(outside / f"{number} {name}")
            planted.append(folder / name)
    return planted


def contents(outside: Path) -> dict[str, str]:
    """Return the files that links point to, and what is in them."""
    return {str(path.relative_to(outside)): path.read_text() for path in outside.rglob("*") if path.is_file()}


def planted(count: int, seed: int, folder: Path) -> Iterator[str]:
    """Yield what did not hold of `count` links, a few at a time, where commands write, lock, or wrote drafts once.

    The places are those that an undisturbed run of each scenario changes. A link points to a file, to one that does not
    exist, to a folder or to itself; what was in its place is removed.
    """
    chance, left = random.Random(seed), count
    scenarios = everything()
    shares = [-(-count // len(scenarios))] * len(scenarios)
    for number, (scenario, share) in enumerate(zip(scenarios, shares, strict=True)):
        harness = Harness(scenario, folder / str(number))
        places = [Path(name) for name in harness.changed()]
        while share > 0 and left > 0:
            work, outside = harness.fresh(), folder / "outside"
            shutil.rmtree(outside, ignore_errors=True)
            (outside / "folder").mkdir(parents=True)
            (outside / "folder" / "letter.txt").write_text(TEXT)
            made = set[str]()
            for _ in range(min(left, share, chance.choice([1, 1, 2, 5]))):
                place = chance.choice(places)
                name = chance.choice([*["{}"] * 6, *FORMS, *LOCKS, ".lock"]).format(place.name)
                made.add(str(place.with_name(name)))
            for at, name in enumerate(sorted(made)):
                _link(work / name, outside, at, chance)
            share, left = share - len(made), left - len(made)
            before = contents(outside)
            status, said = call(work, scenario.command, seconds=120)
            what = f"{scenario.name}, links at {', '.join(sorted(made))}"
            if contents(outside) != before:
                yield f"{what}: followed"
            if status not in (0, 2) or (status == 2 and said.count("\n") != 1):
                yield f"{what}: status {status}: {' '.join(said.split())[-300:]}"


def _link(path: Path, outside: Path, number: int, chance: random.Random) -> None:
    """Put a link in the place of a file, or where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    target = outside / f"{number}.txt"
    if chance.random() < 0.5:
        target.write_text(TEXT)
    path.symlink_to(chance.choice([target, target, outside / "folder", Path(path.name)]))
    assert os.path.islink(path)
