"""Rows of results: files that somebody changed are refused line by line, and data are known by a checksum."""

from dataclasses import replace

import numpy as np

from banditplex import Multiplex
from banditplex.evaluation.rows import describe_data


def test_the_checksum_covers_everything_but_metadata():
    mx = Multiplex.from_edges([0, 0, 1], [1, 2, 2], ["a", "b", "b"], weight=[1.0, 2.0, 3.0], num_nodes=3)
    assert {**describe_data(mx), "checksum": ""} == {
        "nodes": 3, "layers": 2, "edges": 3, "directed": False, "checksum": "",
    }  # fmt: skip
    others = [
        replace(mx, weight=np.array([1.0, 2.0, 4.0])),
        replace(mx, weight=None),
        replace(mx, layer_names=("a", "c")),
        replace(mx, node_names=np.array([0, 1, 3])),
        replace(mx, node_features=np.ones((3, 1))),
        mx.with_node_types(["x", "x", "y"]),
        mx.with_node_types(["x", "y", "y"]),
        replace(mx, edge_index=np.array([[0, 0, 0], [1, 1, 2]])),
    ]
    assert len({describe_data(each)["checksum"] for each in [mx, *others]}) == 9
    assert describe_data(mx.with_metadata(name="x")) == describe_data(mx)
