"""Loops whose compiled form cannot be kept are compiled all the same, and nothing is said."""

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


FULL = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"  # files can be made, but nothing is written


def check(code, folder, **environment):
    """Require that a new process that uses the package in a folder sums losses, and says nothing."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment | {"PYTHONPATH": str(folder)}, cwd=folder,
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[[0.5, 1.0, 1.0], [3.0, 1.0, 2.0]]\n"  # sums of losses, how many were right, how many


@pytest.mark.slow
def test_without_a_place_to_keep_them(tmp_path):
    """As tests may run as root, files stand where folders of caches would be made."""
    package = tmp_path / "banditplex"
    shutil.copytree(Path(banditplex.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    (tmp_path / "file").touch()
    check(CODE, tmp_path, **dict.fromkeys(("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME"), str(tmp_path / "file" / "x")))


@pytest.mark.slow
def test_on_a_full_disk(tmp_path):
    (tmp_path / "banditplex").symlink_to(Path(banditplex.__file__).parent)
    check(f"{FULL}{CODE}", tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
