"""No command follows a link that somebody put where it writes: neither drafts, nor locks, nor the files themselves."""

import shutil

import pytest

from faults.links import FORMS, LOCKS, contents, plant
from faults.scenarios import convert, everything
from tests.quick import only

RUN = (
    "model.json", "graph.safetensors", "policy.safetensors", "weights.safetensors", "checkpoint.safetensors",
    "layer_gains.csv", "reading.json", "about.json", "report.html",
)  # fmt: skip
BOARD = ("rows.jsonl", "leaderboard.csv", "layers.csv", "seeds.csv", "leaderboard.md", "report.html")
FILES = {
    "train": ("run", RUN), "train --force": ("run", RUN), "evaluate": (".", ("rows.jsonl", "rows.html")),
    "predict": (".", ("top.csv",)), "report": (".", ("page.html",)), "compare": ("board", BOARD),
    "compare --resume": ("board", BOARD), "datasets fetch": ("data", ("faults", "edges.txt", "layers.txt")),
}  # fmt: skip
"""What scenarios of `make faults` write: the folder, and the files in it."""
SCENARIOS = {each.name: each for each in everything() if each.name in FILES}
SCENARIOS |= {each.name: each for each in map(convert, ("csv", "banditplex", "parquet"))}


def names_of(scenario):
    """Return the folder that a scenario writes to, names of files and drafts, and names of locks."""
    folder, names = FILES.get(scenario.name, (".", (scenario.place, f"{scenario.place}.meta.json")))
    return folder, [form.format(name) for name in names for form in FORMS], [
        ".lock", *(form.format(name) for name in names for form in LOCKS)
    ]  # fmt: skip


SLOW = ("train", "compare", "compare --resume")
"""`train --force` writes all that `train` does; `compare` takes long."""


@pytest.mark.parametrize("name", only([name for name in list(SCENARIOS)[::2] if name not in SLOW], list(SCENARIOS)))
def test_links_are_not_followed(name, call, tmp_path, monkeypatch):
    """First with links at all names of files and drafts, then at the names of locks: what they point to stays."""
    monkeypatch.setenv("BANDITPLEX_DATA", "data")
    scenario, work, outside = SCENARIOS[name], tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    scenario.prepare(work)
    folder, drafts, locks = names_of(scenario)
    shutil.copytree(work, tmp_path / "second")
    for place, planted in ((work, drafts), (tmp_path / "second", locks)):
        links = plant(outside, place / folder, planted)
        before = contents(outside)
        assert len(links) >= 2
        status, _, error = call(*scenario.command, cwd=place)
        assert status in (0, 2), error
        assert "Traceback" not in error
        assert status == 0 or error.count("\n") == 1, error
        assert contents(outside) == before
        shutil.rmtree(outside)


def test_there_are_two_hundred_links():
    counted = [names_of(each) for each in SCENARIOS.values()]
    assert sum(len(drafts) + len(locks) for _, drafts, locks in counted) >= 200
