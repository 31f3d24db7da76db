"""A fixed split in Parquet tables, worked by hand."""

import pandas as pd
import pytest

from banditplex.errors import FormatError
from banditplex.io.gatne import read_all_parts, read_split_tables
from tests.refusals import refuses

PARTS = {
    "train": [("d2", "d9", "C1"), ("d2", "d5", "C7"), ("d9", "d5", "C7")],
    "valid": [("d9", "d2", "C7")],
    "valid_negatives": [("d5", "d9", "C1")],
    "test": [("d5", "d2", "C1")],
    "test_negatives": [("d9", "d5", "C1")],
}


@pytest.fixture
def folder(tmp_path):
    for name, rows in PARTS.items():
        pd.DataFrame(rows, columns=["source", "target", "layer"]).to_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "layers.csv").write_text("layer,name\nC7,fever\nC1,cough\n")
    return tmp_path


def test_nodes_are_sorted_and_layers_are_those_of_the_list(folder):
    """Nodes d2, d5, d9 are 0, 1, 2; C7 and C1 are layers 0 and 1."""
    train, valid, test = read_split_tables(folder)
    assert train.node_names.tolist() == ["d2", "d5", "d9"]
    assert train.layer_names == ("fever", "cough")
    assert not train.directed
    assert train.edges("fever").T.tolist() == [[0, 1], [1, 2]]
    assert train.edges("cough").T.tolist() == [[0, 2]]
    assert (valid.layer.tolist(), valid.pairs.tolist(), valid.label.tolist()) == ([0, 1], [[2, 0], [1, 2]], [1, 0])
    assert (test.layer.tolist(), test.pairs.tolist(), test.label.tolist()) == ([1, 1], [[1, 0], [2, 1]], [1, 0])


def test_all_parts(folder):
    assert read_all_parts(folder).edges("fever").T.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert read_all_parts(folder).edges("cough").T.tolist() == [[0, 1], [0, 2]]
    assert read_all_parts(folder, part="train").num_edges == 3
    with refuses("'test'"):
        read_all_parts(folder, part="test")


def test_an_unknown_node_is_refused(folder):
    pd.DataFrame([("d2", "d7", "C1")], columns=["source", "target", "layer"]).to_parquet(folder / "test.parquet")
    with refuses(folder / "test.parquet", "target", "'d7'", error=FormatError):
        read_split_tables(folder)
