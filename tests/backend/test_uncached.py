"""An installation that cannot be written to, without a home: loops are compiled all the same, and a note says so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import banditplex

pytest.importorskip("numba")
CODE = """
import numpy as np
from banditplex.backend.steps import _add_losses_loop
sums = np.zeros((2, 3))
loss, logit, label = np.array([0.5, 1.0, 2.0]), np.array([1.0, -1.0, 3.0]), np.array([1.0, 1.0, 1.0])
_add_losses_loop(np.array([0, 1, 1]), loss, logit, label, sums)
print(sums.tolist())
"""


@pytest.mark.slow
def test_loops_are_compiled_without_a_place_to_keep_them(tmp_path):
    """As tests may run as root, files stand where folders of caches would be made."""
    package = tmp_path / "banditplex"
    shutil.copytree(Path(banditplex.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    (tmp_path / "file").touch()
    nowhere = dict.fromkeys(("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME"), str(tmp_path / "file" / "x"))
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=os.environ | nowhere | {"PYTHONPATH": str(tmp_path)}, cwd=tmp_path,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[[0.5, 1.0, 1.0], [3.0, 1.0, 2.0]]\n"  # sums of losses, how many were right, how many
    assert done.stderr.count("cannot be kept") == 1
    assert "Traceback" not in done.stderr
