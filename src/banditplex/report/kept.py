"""The page in a run folder: its data serve again, without the model, while what they were made from stays the same."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from banditplex.errors import InputError
from banditplex.persistence.index import CHECKPOINT, FILES, INDEX, READING, digest
from banditplex.schema import ANYTHING, parse
from banditplex.storage.files import regular
from banditplex.version import __version__

ABOUT, PAGE = "about.json", "report.html"
START, END = '<script id="data" type="application/json">', "</script>"  # of the data in a page


def made_from(folder: Path) -> str:
    """Return a digest of all that a page is made from: name and files of the run, and the program that makes it."""
    files = [folder / name for name in (INDEX, *FILES, CHECKPOINT, READING, ABOUT)]
    program = sorted(Path(__file__).parent.glob("*.py"))
    parts = [__version__, folder.resolve().name, *(digest(path) for path in [*files, *program])]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def kept_data(folder: Path, title: str | None) -> dict[str, Any] | None:
    """Return the data of the page in a folder, with another title if one is given; None if the page is out of date.

    So is a page that lists links of layers that were asked for.
    """
    with suppress(InputError, OSError):
        page = regular(folder / PAGE).read_bytes()
        text = page.partition(START.encode())[2].partition(END.encode())[0]
        data = parse(text, {"made_from": (type(None), {"files": str, "title": str}), "*": ANYTHING}, path=folder / PAGE)
        made = data["made_from"]
        if made is not None and made["files"] == made_from(folder):
            return data | {"title": made["title"] if title is None else title}
    return None
