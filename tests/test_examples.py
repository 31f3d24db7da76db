"""The scripts and the notebook in examples/ run, in an empty folder; each ends with assertions of its own."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from banditplex.bandits import POLICIES

EXAMPLES = Path(__file__).parent.parent / "examples"
QUICK = ("quickstart.py", "own_csv.py")
"""Those that are run in every test; the others take longer, and run in `make test-all`."""


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """Run in an empty folder, without a window for figures; a policy that an example registers is gone afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with patch.dict(POLICIES):
        yield


@pytest.mark.filterwarnings("ignore:.* ids are shared by")  # shop.py
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.name, marks=() if path.name in QUICK else pytest.mark.slow)
        for path in sorted(EXAMPLES.glob("*.py"))
    ],
)
def test_a_script_runs(name, capsys):
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) < 60
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.slow
def test_two_processes_find_what_one_finds():
    script = str(EXAMPLES / "torchrun.py")
    two = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script]
    said = [
        subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True).stdout.splitlines()
        for words in ([script], two)
    ]
    assert (said[0][0], said[1][0]) == ("one process", "2 processes")
    assert said[0][1:] == said[1][1:]


@pytest.mark.slow
def test_the_notebook_prints_what_is_stored_in_it(capsys):
    notebook = json.loads((EXAMPLES / "quickstart.ipynb").read_text(encoding="utf-8"))
    space = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 4
    for cell in cells:
        exec(compile("".join(cell["source"]), "quickstart.ipynb", "exec"), space)
        stored = [out["text"] for out in cell["outputs"] if out["output_type"] == "stream"]
        assert capsys.readouterr().out == "".join(line for text in stored for line in text)
