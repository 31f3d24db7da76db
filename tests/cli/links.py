"""Links to files of somebody else, in every place that a command might write to."""

from collections.abc import Iterable
from pathlib import Path

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
    return {path.name: path.read_text() for path in outside.iterdir()}
