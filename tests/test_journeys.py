"""From a table to the page: the commands of docs/gallery.md, and an office log, all with known relevant layers.

Every layer that was made to help is named, no other is, and the data is read as it was made.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from examples.made_up_tables import DRUGS, SCHOOL, SHOP, links, write_drugs, write_school, write_shop
from tests.cli.test_report import data_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # minutes where other tests run beside them

GALLERY = Path(__file__).parents[1] / "docs" / "gallery.md"
COMMANDS = re.findall(r"^banditplex (.+)$", GALLERY.read_text(encoding="utf-8"), re.MULTILINE)
OFFICE = {"mail": "team", "chat": "team", "phone": "desk", "ticket": "site", "fax": "age", "video": "shift"}


def helpers(kinds, target):
    """Return the layers that follow the same groups as the target."""
    return {name for name in kinds if kinds[name] == kinds[target] and name != target}


def write_office(path, seed):
    """Write a log of messages: timestamp, sender, recipient, channel, subject; pairs write several times, both ways."""
    rng, table = np.random.default_rng(seed), links(OFFICE, seed, nodes=240)
    table = table.iloc[np.repeat(np.arange(len(table)), rng.integers(1, 4, len(table)))]
    ends = np.where(rng.random((len(table), 1)) < 0.5, table[["a", "b"]], table[["b", "a"]])
    seconds = np.sort(rng.integers(0, 90 * 86400, len(table)))
    data = {"timestamp": pd.Timestamp("2026-01-05") + pd.to_timedelta(seconds, unit="s")}
    data |= {end: [f"p{node}@office.example" for node in ends[:, i]] for i, end in enumerate(("sender", "recipient"))}
    subjects = [f"Re: item {number}" for number in rng.integers(0, 4000, len(table))]
    pd.DataFrame(data | {"channel": table["layer"].to_numpy(), "subject": subjects}).to_csv(path, index=False)


def run(folder, command):
    """Run a command in the folder and return what it says."""
    words = [sys.executable, "-m", "banditplex", *shlex.split(command)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def check(run_folder, kinds, targets, num_nodes):
    """Compare a run with how its data was made: nodes, layers, and which layers the table and the page say help."""
    page = data_of(run_folder / "report.html")
    assert sorted(page["layers"]) == sorted(kinds)
    assert page["multiplex"]["nodes"] == num_nodes
    gains = pd.read_csv(run_folder / "layer_gains.csv")
    named = {target: set(gains.query("helps and target == @target")["layer"]) for target in targets}
    assert named == {target: helpers(kinds, target) for target in targets}
    first = {page["layers"][part] for part in page["findings"][0] if isinstance(part, int)}
    assert first == {name for target in targets if named[target] for name in (target, *named[target])}
    assert len(page["findings"]) == 3


def test_an_office_log(tmp_path):
    write_office(tmp_path / "office.csv", seed=0)
    said = run(tmp_path, "train office.csv -o run --target mail --target phone")
    assert "'timestamp' is read as the time" in said
    assert "'channel' is read as the layer" in said
    check(tmp_path / "run", OFFICE, ["mail", "phone"], 240)


@pytest.mark.parametrize(
    ("name", "write", "kinds", "targets", "num_nodes"),
    [
        ("shop.csv", write_shop, SHOP, ["purchase"], 350),
        ("school.csv", write_school, SCHOOL, ["friend"], 240),
        ("drugs", write_drugs, DRUGS, ["nausea", "rash"], 200),
    ],
)
def test_a_page_of_the_gallery(name, write, kinds, targets, num_nodes, tmp_path):
    (command,) = [each for each in COMMANDS if each.startswith(f"train {name} ")]
    write(tmp_path / name)
    run(tmp_path, command)
    check(tmp_path / re.search(r"-o (\S+)", command)[1], kinds, targets, num_nodes)
