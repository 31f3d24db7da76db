"""Node types: what keeps them, what refuses them, and which types a layer links."""

import pickle

import numpy as np
import pytest

from banditplex.multiplex import Multiplex
from banditplex.multiplex.build import linked_types
from tests.refusals import refuses

TYPES = {"ann": "user", "bob": "user", "tea": "item", "jam": "item"}


def shop(**options):
    """Return ann buys tea and jam, bob buys tea; ann knows bob; nothing in the layer "returns"."""
    return Multiplex.from_edges(
        ["ann", "ann", "bob", "bob"], ["tea", "jam", "tea", "ann"], ["buys", "buys", "buys", "knows"],
        layer_names=["buys", "knows", "returns"], **{"node_types": TYPES} | options,
    )  # fmt: skip


def test_types_are_one_string_per_node():
    mx = shop()
    assert mx.node_names.tolist() == ["ann", "bob", "jam", "tea"]
    assert mx.node_types.tolist() == ["user", "user", "item", "item"]
    assert mx.type_names == ("item", "user")
    assert mx.type_index.tolist() == [1, 1, 0, 0]
    assert "2 node types" in repr(mx)
    assert shop(node_types=np.array(["user", "user", "item", "item"])) == mx
    assert mx != shop(node_types=None)
    assert mx != shop(node_types=["user", "user", "item", "user"])
    assert pickle.loads(pickle.dumps(mx)) == mx


def test_types_cannot_be_changed():
    given = np.array(["user", "user", "item", "item"], dtype=object)
    mx = shop(node_types=given)
    given[0] = "item"
    assert mx.node_types[0] == "user"
    with pytest.raises(ValueError, match="read-only"):
        mx.node_types[0] = "item"
    with pytest.raises(ValueError, match="read-only"):
        mx.type_index[0] = 0


def test_wrong_types_are_refused():
    with refuses(4, "(3,)"):
        shop(node_types=["user", "user", "item"])
    with refuses("strings", "int"):
        shop(node_types=[1, 1, 2, 2])
    with refuses("'jam'"):
        shop(node_types={"ann": "user", "bob": "user", "tea": "item"})
    assert shop(node_types=TYPES | {"eve": "user"}) == shop()  # of a node that is not there


def test_derived_multiplexes_keep_types():
    mx = shop(directed=True)
    same = ["user", "user", "item", "item"]
    for derived in (
        mx.subset(layers=["knows"]), mx.keep_edges(mx.edge_layer == 0), mx.union(), mx.to_undirected(),
        shop().to_directed(), mx.with_metadata(a=1), mx.with_node_features(np.ones((4, 1))),
    ):  # fmt: skip
        assert derived.node_types.tolist() == same
    assert mx.subset(nodes=["tea", "bob"]).node_types.tolist() == ["item", "user"]
    assert mx.with_node_types(None) == shop(directed=True, node_types=None)
    assert mx.with_node_types(None).with_node_types(TYPES) == mx


def test_the_types_that_a_layer_links():
    assert linked_types(shop()).T.tolist() == [[0, 0, 1], [1, 1, 1]]
    assert linked_types(shop(directed=True)).T.tolist() == [[0, 1, 0], [1, 1, 1]]
    loops = Multiplex.from_edges([0, 0], [0, 1], ["a", "b"], num_nodes=2, node_types=["x", "y"])
    assert linked_types(loops).T.tolist() == [[1, 0, 1]]


def test_the_summary_shows_types_and_densities_among_them():
    """3 of 4 pairs of a user and an item; the only pair of users; nothing of 6 pairs."""
    layers = shop().summary().layers
    assert layers["types"].tolist() == ["item-user", "user-user", ""]
    assert layers["density"].tolist() == [3 / 4, 1, 0]
    assert shop(directed=True).summary().layers["types"].tolist() == ["user>item", "user>user", ""]
    assert shop(directed=True).summary().layers["density"].tolist() == [3 / 4, 1 / 2, 0]
    assert "types" not in shop(node_types=None).summary().layers
