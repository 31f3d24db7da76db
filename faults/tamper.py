"""Folders that somebody changed at random, and the commands that read them: each is done, or refused in one line."""

import math
import os
import random
import re
import shutil
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import banditplex as bx
from faults.harness import call, start
from faults.scenarios import COMPARE, EVALUATE, FAST, NEW, OLD, PAGES
from fuzz.mutate import damage, seal

SECONDS, MEGABYTES = 60, 700
"""What one command may take."""
PAIRS = "source,target\n0,1\n2,3\n"
WRITTEN = ("answer.csv", "page.html", "rows.html")
"""What commands write beside what is tampered with."""
NO_NUMBER = re.compile(rb"(?i)(?<![a-z])(?:nan|-?inf(?:inity)?)(?![a-z])")


class Victim(NamedTuple):
    """A folder or file that is tampered with, the commands that make it and another, and those that read it."""

    name: str
    place: str
    make: list[list[str]]
    commands: list[list[str]]
    share: int = 1


def _train(run: str, *words: str) -> list[str]:
    return ["train", "data.csv", "-o", run, *FAST, *words]


ASK = ["predict", "PLACE", "--layer", "a0", "--prior", "0.1", "-o", "answer.csv", "--force"]
EVALUATION = ["evaluate", "data.csv", *EVALUATE]
READ = [[*ASK, "--top", "3"], [*ASK, "--pairs", "pairs.csv"], [*ASK, "--pairs", "pairs.csv", "--explain"]]
READ += [["report", "PLACE", "-o", "page.html", "--force", "--quiet"]]
VICTIMS = {
    "model": [
        Victim("model", "model", [], READ),
        Victim("network", "network", [], READ),
    ],
    "run": [
        Victim("run", "run", [_train("run"), _train("other", "--seed", "1")], [
            _train("run", "--resume"), _train("run", "--resume", "--epochs", "3"), _train("run", "--force"),
            ["report", "run", "--quiet"], *READ,
        ], 3),
        Victim("results", "rows.jsonl", [
            [*EVALUATION, "-o", "rows.jsonl"], [*EVALUATION, "-o", "other.jsonl", "--seed", "1"]
        ], [[*EVALUATION, "-o", "rows.jsonl", "--resume"]]),
        Victim("board", "board", [COMPARE, [*COMPARE[:-1], "other-board"]], [[*COMPARE, "--resume"]]),
    ],
}  # fmt: skip
"""Model folders; and run folders, results of `evaluate` and folders of `compare`."""


def prepare(folder: Path, kind: str) -> None:
    """Write all of a kind that is tampered with, what it may be mixed with, and what nobody may touch."""
    bx.write(NEW, folder / "data.csv")
    (folder / "pairs.csv").write_text(PAIRS)
    (folder / "precious").mkdir()
    (folder / "precious" / "letter.txt").write_text("precious\n")
    with warnings.catch_warnings(action="ignore"):
        for seed, prefix in enumerate(("", "other-") if kind == "model" else ()):
            bx.LinkPredictor(epochs=1, width=0, seed=seed).fit((NEW, OLD)[seed]).save(folder / f"{prefix}model")
            learner = bx.LinkPredictor(epochs=2, width=4, k=1, policy="exp3+", seed=seed)
            learner.fit(NEW, ["a0"]).save(folder / f"{prefix}network")
    for victim in VICTIMS[kind]:
        for words in victim.make:
            status, said = call(folder, words)
            assert status == 0, said
        if (folder / victim.place).is_dir():
            (folder / victim.place / "letter.txt").write_text("precious\n")


# Ways to tamper: each changes the folder `place`, or the one file `file` of it


def _other(file: Path, chance: random.Random) -> None:
    """Take the file of the same name of another run."""
    others = [
        each for each in file.parent.parent.rglob(file.name)
        if each != file and "precious" not in each.parts and each.is_file()
    ]  # fmt: skip
    if others:
        shutil.copy(chance.choice(sorted(others)), file)
    else:
        damage(file, chance)


def _swap(file: Path, chance: random.Random) -> None:
    second = chance.choice(sorted(each for each in file.parent.iterdir() if each.is_file() and each != file))
    content = file.read_bytes()
    shutil.copy(second, file)
    second.write_bytes(content)


def _folder(file: Path, chance: random.Random) -> None:
    file.unlink()
    file.mkdir()
    if chance.random() < 0.5:
        (file / "inside").write_text("x")


def _link(file: Path, chance: random.Random) -> None:
    outside = Path(os.path.relpath(file.parents[_depth(file)] / "precious", file.parent))
    if chance.random() < 0.3:  # what it points to is as it should be
        shutil.copy(file, file.parents[_depth(file)] / "precious" / file.name)
    file.unlink()
    file.symlink_to(chance.choice([outside / file.name, outside / "letter.txt", outside, Path(file.name)]))


def _depth(file: Path) -> int:
    """Return how far above a file the working folder is."""
    return next(number for number, each in enumerate(file.parents) if (each / "precious").is_dir())


def _resize(file: Path, chance: random.Random) -> None:
    """Leave nothing, half, or add zeros, as a disk may after a crash."""
    content = file.read_bytes()
    file.write_bytes(chance.choice([b"", content[: len(content) // 2], content + bytes(4096), bytes(len(content))]))


def _lock(file: Path, chance: random.Random) -> None:
    text = chance.choice(["", "x", "1\n", "{}", '{"pid": 1}', "[" * 9999, '{"pid": -1, "host": 5}', "\0\xff"])
    for name in (".lock", f"{file.name}.lock"):
        (file.parent / name).write_text(text)


def _more(file: Path, chance: random.Random) -> None:
    """Put a further file there: of an earlier version, of a process that is gone, or anything."""
    name = chance.choice([f"{file.name}.new", ".banditplex-draft-0-1-1-0-0", f".{file.name}.mixed", "more", "old.json"])
    shutil.copy(file, file.parent / name)
    damage(file.parent / name, chance)


WAYS: dict[Callable[[Path, random.Random], None], int] = {
    damage: 60, _other: 8, _swap: 4, _folder: 3, _link: 5, _resize: 8, _lock: 4, _more: 4,
    lambda file, chance: file.unlink(): 6,
}  # fmt: skip
"""With how often each is drawn."""


def tamper(place: Path, chance: random.Random) -> None:
    """Change a folder or file in one to three ways; checksums are mostly made to fit, as anyone could."""
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        files = sorted(each for each in [place, *place.rglob("*")] if each.is_file() and each.name != "letter.txt")
        if files:
            chance.choices(list(WAYS), list(WAYS.values()))[0](chance.choice(files), chance)
    if place.is_dir() and chance.random() < 0.8:
        seal(place)
    if files and chance.random() < 0.02 and files[0].is_file():
        files[0].unlink()
        os.mkfifo(files[0])  # at last, as nothing reads it but the command


# What must hold


def contents(folder: Path) -> dict[str, bytes | str]:
    """Return what is below a folder: content of files, where links point, names of all else. Locks do not count."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = "pipe" if path.is_fifo() else "folder"
    return found


def attempt(victim: Victim, number: int, seed: int, before: Path, work: Path) -> str | None:
    """Tamper with a copy of `before`, give a command that reads it; return what did not hold, None if all did."""
    chance = random.Random(f"{seed}/{victim.name}/{number}")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(before, work)
    tamper(work / victim.place, chance)
    command = [victim.place if word == "PLACE" else word for word in chance.choice(victim.commands)]
    was = contents(work)
    status, said, megabytes = _measured(work, command)
    now = contents(work)
    touched = sorted(
        name for name in {*was, *now}
        if was.get(name) != now.get(name) and name not in WRITTEN and not name.startswith(victim.place)
    )  # fmt: skip
    lost = sorted(name for name in was if status == 2 and _is_lost(name, was[name], now.get(name), command))
    letters = [name for name in was if name.endswith("letter.txt") and was[name] != now.get(name)]
    answer = work / "answer.csv"
    wrong = {
        f"status {status}: {' '.join(said.split())[-300:]}": status not in (0, 2),
        f"not one line: {said!r}": status == 2 and said.count("\n") != 1,
        f"outside of the run: {', '.join(touched)}": bool(touched),
        f"lost: {', '.join(lost + letters)}": bool(lost or letters),
        f"{megabytes} MB of memory": megabytes > MEGABYTES,
        "no number in the answer": status == 0 and answer.exists() and bool(NO_NUMBER.search(answer.read_bytes())),
    }
    found = [what for what, is_so in wrong.items() if is_so]
    return f"{victim.name} {number}, {' '.join(command)}: {'; '.join(found)}" if found else None


def _is_lost(name: str, was: bytes | str, now: bytes | str | None, command: list[str]) -> bool:
    """Say whether a command that refused has changed a file that is not its own.

    `train` may have gone on before, and `compare` may have written pages before one that it cannot write.
    """
    if name.endswith((".lock", *(WRITTEN if now is not None else ()))):
        return False
    if "--force" in command and command[0] == "train":
        return False  # letters count all the same
    is_own = command[0] == "train" or (command[0] == "compare" and Path(name).name in PAGES)
    return now is None if is_own else was != now


def _measured(work: Path, command: list[str]) -> tuple[int, str, float]:
    """Give a command; return its status, its stderr, and the memory beyond that of this process, in megabytes."""
    import resource

    mine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child, said = start(work, command, seconds=SECONDS)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    text = said.read_text(errors="replace") + f"more than {SECONDS} s" * (code == -signal.SIGALRM)
    return code, text, math.ceil((used.ru_maxrss - mine) / 1024)


def tampered(kind: str, count: int, seed: int, folder: Path, first: int = 0) -> Iterator[str]:
    """Yield what did not hold among `count` folders of a kind, tampered with at random, from number `first` on."""
    before = folder / "before"
    before.mkdir()
    prepare(before, kind)
    victims = VICTIMS[kind]
    weights = [victim.share for victim in victims]
    for number in range(first, first + count):
        victim = random.Random(f"{seed}/{kind}/{number}").choices(victims, weights)[0]
        found = attempt(victim, number, seed, before, folder / "work")
        if found:
            yield found
