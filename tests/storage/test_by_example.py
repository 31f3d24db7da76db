"""Functions inside `banditplex.storage`, each by an example."""

import tempfile

import numpy as np

from banditplex.storage.files import differences
from banditplex.storage.rows import Path, RowStore, read_results
from banditplex.storage.tree import from_bytes, pack, to_bytes
from tests.shown import shown


def test_differences():
    found = list(differences({"seed": 0, "data": {"edges": 5}}, {"seed": 1, "data": {"edges": 6}}))
    expected = ["seed was 0, now 1", "data edges was 5, now 6"]
    assert found == expected
    found = list(differences({"options": None, "b": {"x": 1}}, {"options": {"k": 2}, "c": {"x": 1}}))
    expected = ["options k was not given, now 2", "b was given, now not given", "c was not given, now given"]
    assert found == expected


def test_row_store():
    path = Path(tempfile.mkdtemp()) / "results.jsonl"
    RowStore(path, {"seed": 0}).add("trial 0", [{"accuracy": 0.75}])
    assert RowStore(path, {"seed": 0}, resume=True).finished == {"trial 0": [{"accuracy": 0.75}]}
    assert read_results(path) == ({"version": "0.1.0", "seed": 0}, [{"accuracy": 0.75}])


def test_pack():
    found = shown(pack({"loss": (0.5, np.arange(3))}))
    expected = "({'dict': [['loss', {'tuple': [0.5, {'array': '0'}]}]]}, {'0': array([0, 1, 2])})"
    assert found == expected


def test_to_bytes():
    assert from_bytes(to_bytes({"seed": 7, "drawn": (2, 3)})) == {"seed": 7, "drawn": (2, 3)}
