"""A limit on memory: sizes as people write them, large arrays in files, memory below the limit."""

import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import banditplex as bx
from banditplex.datasets import planted
from banditplex.predictor import LinkPredictor
from banditplex.training import memory
from banditplex.training.config import Config
from tests.refusals import refuses
from tests.training import limited

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")


@pytest.mark.parametrize(
    ("given", "expected"),
    [("2GB", 2 * 10**9), ("512 MiB", 2**29), (" .5gb ", 5 * 10**8), ("700", 700), (700, 700), (None, None)],
)
def test_sizes_as_people_write_them(given, expected):
    assert memory.as_bytes(given) == expected
    assert Config(memory=given).checked().memory_limit == expected


@pytest.mark.parametrize("given", ["much", "2 apples", "-1GB", 0, True, "", "0MB"])
def test_what_is_no_size_is_refused(given):
    with refuses("memory", repr(given)):
        LinkPredictor(memory=given).fit(planted(2, 1, 0.5, num_nodes=20, edges_per_layer=30, communities=2))


@linux
def test_a_limit_below_what_the_process_has_is_refused_with_an_estimate():
    import_module("torch._dynamo")  # which is loaded where files are needed
    held = memory.resident()
    expected = memory.in_words(held + 64 * 10**6)
    with refuses(expected, "64 MB", memory.in_words(held + 10**6)), memory.limited(held + 10**6, 10**6):
        raise AssertionError("this must not be reached")


@linux
def test_a_training_that_grows_beyond_the_limit_is_stopped():
    start, limit = time.monotonic(), memory.resident() + 77 * 10**6
    with refuses(memory.in_words(limit), "1,234"), memory.limited(limit, 1_234):
        held = bytearray(150 * 10**6)
        while time.monotonic() < start + 10:
            held[::4096] = b"x" * len(held[::4096])
    assert time.monotonic() < start + 10


@linux
@pytest.mark.parametrize("error", [ValueError("allocate"), RuntimeError("shapes differ")])
def test_other_errors_stay_what_they_are(error):
    with pytest.raises(type(error), match=str(error)), memory.limited(memory.resident() + 10**9, 10):
        raise error


@linux
def test_a_limit_changes_where_arrays_are_and_nothing_else(tmp_path):
    """Of 150,000 edges, the neighbours take 2.4 MB: with 70 MB to work with, arrays of 2.2 MB are in files."""
    mx = limited.large(2, 75_000, 3_000)
    settings = {"epochs": 1, "members": 1, "evidence": "drawn", "width": 0}
    free = LinkPredictor(**settings).fit(mx, ["a", "b"])
    assert not mapped_files()
    bound = LinkPredictor(**settings, memory=memory.resident() + 70 * 10**6).fit(mx, ["a", "b"], checkpoint=tmp_path)
    assert sum(mapped_files()) > 3 * 2.4 * 10**6  # nodes, rows and keys
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.safetensors"]
    for name in ("train_loss", "validation_loss"):
        np.testing.assert_allclose(bound.history_[name], free.history_[name], rtol=1e-5)
    assert bound.history_["drawn"].tolist() == free.history_["drawn"].tolist()
    again = LinkPredictor(**settings).fit(mx, ["a", "b"], checkpoint=tmp_path, resume=True)  # with another limit
    assert again.history_.equals(bound.history_)
    pairs = np.random.default_rng(1).integers(0, 400, (50, 2))
    np.testing.assert_allclose(bound.score_pairs(pairs, "a"), free.score_pairs(pairs, "a"), rtol=1e-3, atol=1e-4)


def mapped_files():
    """Return the sizes of the scratch files that this process has mapped; they have no name any more."""
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    spans = [line[0].split("-") for line in lines if "banditplex-" in line[-2] and line[-1] == "(deleted)"]
    return [int(last, 16) - int(first, 16) for first, last in spans]


@linux
@pytest.mark.slow
def test_memory_stays_below_the_limit_on_a_graph_that_is_larger(tmp_path):
    """1 M edges, all evidence, 130 MB to work with: less than the graph, a fraction of what it would take."""
    bx.write(limited.large(4, 250_000, 9_000), tmp_path / "data.bx")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(["src", "."]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, limited.__file__, tmp_path / "data.bx", "130"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=290)
    assert done.returncode == 0, done.stderr
    bound, free = map(json.loads, done.stdout.splitlines())
    assert bound["packed"] == free["packed"] > 130 * 10**6
    assert bound["peak"] <= bound["limit"]
    assert free["peak"] - free["start"] > 3 * 130 * 10**6
    np.testing.assert_allclose(bound["loss"], free["loss"], rtol=1e-5)
