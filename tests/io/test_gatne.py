import os
from pathlib import Path

import pytest

from banditplex.io import read
from banditplex.io.gatne import read_gatne_splits
from tests.io.checks import edges_by_name, lay_out, refuses_file
from tests.refusals import refuses

FILES = {
    "train.txt": "1 100 7\n1 7 9\n2 9 100\n",
    "valid.txt": "1 9 100 1\n2 7 42 0\n",
    "test.txt": "3 7 100 1\r\n3 7 9 0\r\n",
}


def test_parts_share_nodes_and_layers(tmp_path):
    train, everything = read(lay_out(tmp_path, FILES)), read(tmp_path, part="all")
    assert edges_by_name(train) == [(1, 7, 9, 1.0, None), (1, 7, 100, 1.0, None), (2, 9, 100, 1.0, None)]
    assert edges_by_name(everything) == sorted(
        [*edges_by_name(train), (1, 9, 100, 1.0, None), (3, 7, 100, 1.0, None)], key=lambda edge: edge[:3]
    )
    for mx in (train, everything):
        assert mx.node_names.tolist() == [7, 9, 42, 100]  # 42 stands in a negative pair only
        assert mx.layer_names == (1, 2, 3)


def test_splits(tmp_path):
    splits = read_gatne_splits(lay_out(tmp_path, FILES))
    assert splits.train == read(tmp_path)
    assert splits.valid.layer.tolist() == [0, 1]
    assert splits.valid.pairs.tolist() == [[1, 3], [0, 2]]
    assert splits.valid.label.tolist() == [True, False]
    assert splits.test.layer.tolist() == [2, 2]
    assert splits.test.pairs.tolist() == [[0, 3], [0, 1]]
    assert splits.test.label.tolist() == [True, False]


def test_valid_and_test_may_be_missing_from_a_training_graph(tmp_path):
    lay_out(tmp_path, {"train.txt": FILES["train.txt"]})
    assert read(tmp_path).node_names.tolist() == [7, 9, 100]
    with refuses_file(tmp_path / "valid.txt"):
        read(tmp_path, part="all")
    with refuses_file(tmp_path / "valid.txt"):
        read_gatne_splits(tmp_path)


@pytest.mark.parametrize(
    ("files", "wrong", "line", "values"),
    [
        ({"train.txt": "1 2 3\n1 2\n"}, "train.txt", 2, ["3 columns", "got 2", "'1 2'"]),
        ({"train.txt": "\n1 2 3 4\n"}, "train.txt", 2, ["3 columns", "got 4", "'1 2 3 4'"]),
        ({"valid.txt": "1 2 3\n"}, "valid.txt", 1, ["4 columns", "got 3", "'1 2 3'"]),
        ({"test.txt": "1 2 3 1\n\n1 2 3 2\n"}, "test.txt", 3, ["label", "0 or 1", "'2'"]),
        ({"test.txt": "1 2 3 yes\n"}, "test.txt", 1, ["label", "0 or 1", "'yes'"]),
        ({"train.txt": ""}, "train.txt", None, ["type u v", "empty"]),
        ({"train.txt": b"1 2 3\n1 2 \xe9\n"}, "train.txt", 2, ["UTF-8", "0xe9"]),
    ],
)
def test_bad_files(tmp_path, files, wrong, line, values):
    with refuses_file(tmp_path / wrong, *values, line=line):
        read(lay_out(tmp_path, FILES | files), format="gatne")


def test_other_parts_are_refused(tmp_path):
    with refuses("part", "'some'"):
        read(lay_out(tmp_path, FILES), part="some")


DATA = os.environ.get("BANDITPLEX_DATA")


@pytest.mark.skipif(not DATA, reason="BANDITPLEX_DATA is not set")
def test_products_of_amazon():
    """The counts that the data's own README gives; no node stands in negative pairs only."""
    splits = read_gatne_splits(Path(DATA) / "gatne-amazon")
    assert (len(splits.valid.label), splits.valid.label.sum()) == (14_756, 7_378)
    assert (len(splits.test.label), splits.test.label.sum()) == (29_492, 14_746)
    assert read(Path(DATA) / "gatne-amazon", directed=True).num_edges == 126_535
    everything = read(Path(DATA) / "gatne-amazon", part="all", directed=True)
    assert (everything.num_nodes, everything.layer_sizes.tolist()) == (10_099, [76_924, 71_735])
    assert everything.to_undirected().layer_sizes.tolist() == [73_412, 57_487]
