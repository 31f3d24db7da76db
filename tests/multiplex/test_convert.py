"""Conversions: there and back for any multiplex, and by hand for what others make."""

import sys
from types import ModuleType

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from torch_geometric.data import HeteroData

import banditplex as bx
from banditplex.multiplex import Multiplex
from tests.io.strategies import multiplexes, strings, words
from tests.refusals import refuses


@pytest.fixture
def mx():
    """Return two layers over four people: work ann-bob (2), bob-cid (3), cid-cid (1); home ann-cid (5); dan alone."""
    return Multiplex.from_edges(
        ["ann", "bob", "cid", "cid"],
        ["bob", "cid", "cid", "ann"],
        ["work", "work", "work", "home"],
        weight=[2, 3, 1, 5],
        time=[10, 20, 30, 40],
        node_names=["ann", "bob", "cid", "dan"],
        layer_names=["work", "home"],
        node_features=np.array([[0.0], [1.0], [2.0], [3.0]], np.float32),
    )


@pytest.fixture
def shop():
    """Return ann buys tea, bob buys jam, and ann knows bob."""
    return Multiplex.from_edges(
        ["ann", "bob", "ann"], ["tea", "jam", "bob"], ["buys", "buys", "knows"],
        node_names=["ann", "tea", "bob", "jam"], node_types=["user", "item", "user", "item"],
    )  # fmt: skip


# networkx


@given(mx=multiplexes(types=strings))
def test_networkx_and_back(mx):
    graph = mx.to_networkx()
    assert graph.is_directed() == mx.directed
    assert graph.number_of_nodes() == mx.num_nodes
    assert graph.number_of_edges() == mx.num_edges
    assert Multiplex.from_networkx(graph) == mx


def test_networkx_by_hand(mx):
    graph = mx.to_networkx()
    assert graph["ann"]["bob"] == {"work": {"layer": "work", "weight": 2, "time": 10}}
    assert graph.nodes["dan"] == {"features": [3.0]}
    assert graph.graph == {"layers": ["work", "home"]}


def test_from_a_plain_networkx_graph():
    graph = nx.Graph([("b", "a"), ("b", "c")])
    graph.add_node("z")
    mx = Multiplex.from_networkx(graph)
    assert mx == Multiplex.from_edges(["b", "b"], ["a", "c"], "edges", node_names=["b", "a", "c", "z"])


def test_from_a_multigraph_by_key_or_attribute():
    graph = nx.MultiDiGraph()
    graph.add_edge(1, 2, key="x")
    graph.add_edge(1, 2, kind="y", cost=4)
    mx = Multiplex.from_networkx(graph, layer="kind", weight="cost")
    assert mx == Multiplex.from_edges([1, 1], [2, 2], ["x", "y"], weight=[1, 4], directed=True)


def test_from_networkx_refuses_half_of_a_column():
    graph = nx.Graph([(1, 2, {"time": 3}), (2, 3)])
    with refuses("edge from 2 to 3", "'time'", "none"):
        Multiplex.from_networkx(graph)
    graph = nx.Graph([(1, 2)])
    graph.nodes[1]["features"] = [0.5]
    with refuses("node", "'features'", 2):
        Multiplex.from_networkx(graph)


# PyG


@given(mx=multiplexes())
def test_hetero_data_and_back(mx):
    data = mx.to_hetero_data()
    back = Multiplex.from_hetero_data(data)
    assert back == mx
    assert mx.node_features is None or back.node_features.dtype == mx.node_features.dtype
    assert mx.directed or data.is_undirected()


@pytest.mark.filterwarnings("ignore:There exist type names")  # with two underscores, of which PyG warns
@given(mx=multiplexes(types=words))
def test_hetero_data_with_types_and_back(mx):
    assert Multiplex.from_hetero_data(mx.to_hetero_data()) == mx


def test_hetero_data_of_a_shop(shop):
    """Users ann (node 0) and bob (2), items tea (1) and jam (3)."""
    data = shop.to_hetero_data()
    assert set(data.node_types) == {"item", "user"}
    assert data["user"].names == ["ann", "bob"]
    assert data["item"].names == ["tea", "jam"]
    edges = {kind: data[kind].edge_index.T.tolist() for kind in data.edge_types}
    assert edges == {
        ("user", "buys", "item"): [[0, 0], [1, 1]],
        ("item", "buys", "user"): [[0, 0], [1, 1]],
        ("user", "knows", "user"): [[0, 1], [1, 0]],
    }


def test_hetero_data_by_hand(mx):
    data = mx.to_hetero_data()
    assert data.node_types == ["node"]
    assert data.edge_types == [("node", "work", "node"), ("node", "home", "node")]
    assert data["node"].num_nodes == 4
    assert data["node"].x.tolist() == [[0], [1], [2], [3]]
    work = data["node", "work", "node"]
    assert work.edge_index.tolist() == [[0, 1, 2, 1, 2], [1, 2, 2, 0, 1]]
    assert work.edge_weight.tolist() == [2, 3, 1, 2, 3]
    assert work.edge_time.tolist() == [10, 20, 30, 10, 20]


def test_hetero_data_with_several_node_types():
    """Two authors and three papers: a0 wrote p0, a1 wrote p1 and p2, p1 cites p0."""
    data = HeteroData()
    data["author"].num_nodes = 2
    data["paper"].x = torch.zeros(3, 4)
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 1], [0, 1, 2]])
    data["paper", "cites", "paper"].edge_index = torch.tensor([[1], [0]])
    mx = Multiplex.from_hetero_data(data)
    assert mx.directed
    assert mx.node_names.tolist() == ["author/0", "author/1", "paper/0", "paper/1", "paper/2"]
    assert mx.layer_names == ("writes", "cites")
    assert mx.edges("writes").tolist() == [[0, 1, 1], [2, 3, 4]]
    assert mx.edges("cites").tolist() == [[3], [2]]
    assert mx.node_features is None
    assert mx.node_types.tolist() == ["author", "author", "paper", "paper", "paper"]
    assert Multiplex.from_hetero_data(data, directed=False).edges("cites").tolist() == [[2], [3]]


def test_a_relation_that_occurs_twice_is_named_in_full():
    data = HeteroData()
    data["a"].x, data["b"].x = torch.ones(1, 2), torch.zeros(2, 2)
    data["a", "to", "b"].edge_index = torch.tensor([[0], [1]])
    data["b", "to", "a"].edge_index = torch.tensor([[1], [0]])
    mx = Multiplex.from_hetero_data(data)
    assert mx.layer_names == ("a/to/b", "b/to/a")
    assert mx.node_features.tolist() == [[1, 1], [0, 0], [0, 0]]


def test_attributes_of_any_name():
    data = HeteroData()
    data["node"].num_nodes, data["node"].age = 3, torch.tensor([[1.0], [2.0], [3.0]])
    data["node", "a", "node"].edge_index = torch.tensor([[0, 1], [1, 2]])
    data["node", "a", "node"].edge_attr = torch.tensor([[0.5], [2.0]])
    data["node", "a", "node"].stamp = torch.tensor([4, 5])
    mx = Multiplex.from_hetero_data(data, weight="edge_attr", time="stamp", features="age")
    expected = Multiplex.from_edges(
        [0, 1], [1, 2], "a", weight=[0.5, 2], time=[4, 5], node_features=[[1.0], [2.0], [3.0]], directed=True
    )
    assert mx == expected


def test_undirected_edges_given_once_are_kept():
    """Neither direction is dropped where only one of them stands there."""
    data = HeteroData()
    data["node"].num_nodes = 3
    data["node", "a", "node"].edge_index = torch.tensor([[2, 0, 1], [0, 1, 0]])
    data["node", "a", "node"].edge_weight = torch.tensor([4.0, 2.0, 3.0])
    mx = Multiplex.from_hetero_data(data, directed=False)
    assert mx == Multiplex.from_edges([0, 0], [1, 2], "a", weight=[3, 4])


def test_hetero_data_that_is_half_weighted_is_refused():
    data = HeteroData()
    data["node"].num_nodes = 2
    for layer in "ab":
        data["node", layer, "node"].edge_index = torch.tensor([[0], [1]])
    data["node", "a", "node"].edge_weight = torch.tensor([2.0])
    with refuses("'edge_weight'", 1):
        Multiplex.from_hetero_data(data)


# pandas


@given(mx=multiplexes())
def test_pandas_and_back(mx):
    back = Multiplex.from_pandas(
        mx.to_pandas(),
        node_names=mx.node_names,
        layer_names=mx.layer_names,
        node_features=mx.node_features,
        directed=mx.directed,
    )
    assert back == mx


def test_pandas_by_hand(mx):
    expected = pd.DataFrame(
        {
            "source": ["ann", "bob", "cid", "ann"],
            "destination": ["bob", "cid", "cid", "cid"],
            "layer": ["work", "work", "work", "home"],
            "weight": [2.0, 3, 1, 5],
            "time": [10, 20, 30, 40],
        }
    )
    pd.testing.assert_frame_equal(mx.to_pandas(), expected)


def test_pandas_of_a_shop(shop):
    frame = shop.to_pandas()
    assert frame[["source", "source_type"]].to_numpy().tolist() == [["ann", "user"], ["bob", "user"], ["ann", "user"]]
    assert frame["destination_type"].tolist() == ["item", "item", "user"]
    assert Multiplex.from_pandas(frame, node_names=shop.node_names) == shop
    renamed = frame.rename(columns={"destination": "target", "destination_type": "target_type"})
    assert Multiplex.from_pandas(renamed, node_names=shop.node_names) == shop
    assert Multiplex.from_pandas(frame, node_types=["x"] * 4).type_names == ("x",)
    with refuses("'user'", "'item'", "'ann'"):
        Multiplex.from_pandas(frame.assign(source_type=["user", "user", "item"]))
    with refuses("'dan'"):
        Multiplex.from_pandas(frame, node_names=[*shop.node_names, "dan"])
    numbered = pd.DataFrame({"source": [0], "target": [1], "source_type": ["user"], "target_type": ["item"]})
    with refuses("none for 2."):
        Multiplex.from_pandas(numbered, num_nodes=3)


def test_networkx_of_a_shop(shop):
    graph = shop.to_networkx()
    assert graph.nodes["tea"] == {"node_type": "item"}
    assert Multiplex.from_networkx(graph) == shop
    nx.set_node_attributes(graph, {"ann": "a", "bob": "b", "tea": "a", "jam": "b"}, "kind")
    assert Multiplex.from_networkx(graph, types="kind").node_types.tolist() == ["a", "a", "b", "b"]
    del graph.nodes["jam"]["kind"]
    with refuses("'kind'", "'jam'"):
        Multiplex.from_networkx(graph, types="kind")


def test_columns_of_pandas_can_be_named():
    frame = pd.DataFrame({"u": [1, 2], "v": [2, 3], "kind": pd.Categorical(["x", "y"]), "w": [1, 5]})
    mx = Multiplex.from_pandas(frame, source="u", destination="v", layer="kind", weight="w")
    assert mx == Multiplex.from_edges([1, 2], [2, 3], ["x", "y"], weight=[1, 5])
    assert mx == Multiplex.from_pandas(frame, source="u", target="v", layer="kind", weight="w")
    with refuses("target=", "destination="):
        Multiplex.from_pandas(frame, source="u", target="v", destination="v")
    with refuses("'to'", "destination", "'u', 'v', 'kind'"):
        Multiplex.from_pandas(frame, source="u", destination="to", layer="kind")


def test_missing_cells_of_pandas_are_refused():
    frame = pd.DataFrame({"source": ["a", None], "target": ["b", "c"], "layer": "x"})
    with refuses("row 2", "node name as source", "missing='drop'"):
        Multiplex.from_pandas(frame)
    with pytest.warns(UserWarning, match="1 of 2 rows left out.*row 2"):
        mx = Multiplex.from_pandas(frame, missing="drop")
    assert mx == Multiplex.from_edges(["a"], ["b"], "x")


def test_a_frame_that_changes_later_does_not_matter():
    frame = pd.DataFrame({"source": [0, 1], "target": [1, 2], "layer": 0, "weight": [2.0, 3.0]})
    mx = Multiplex.from_pandas(frame)
    frame.loc[:, "weight"] = 9.0
    assert mx.weight.tolist() == [2, 3]


# scipy


@given(mx=multiplexes(times=False))
def test_scipy_and_back(mx):
    positive = mx.weight is None or (mx.weight > 0).all()  # a matrix cannot tell a weight of 0 from no edge
    matrices = {layer: mx.to_scipy(layer) for layer in mx.layer_names}
    back = Multiplex.from_scipy(
        matrices, node_names=mx.node_names, node_features=mx.node_features, directed=mx.directed
    )
    assert not positive or back == mx


@given(mx=multiplexes())
def test_scipy_agrees_with_networkx(mx):
    graph = mx.to_networkx()
    for layer in mx.layer_names:
        edges = [(u, v, data.get("weight", 1)) for u, v, key, data in graph.edges(keys=True, data=True) if key == layer]
        one = nx.DiGraph() if mx.directed else nx.Graph()
        one.add_nodes_from(graph)
        one.add_weighted_edges_from(edges)
        assert np.array_equal(mx.to_scipy(layer).toarray(), nx.to_numpy_array(one, nodelist=mx.node_names.tolist()))


def test_scipy_by_hand(mx):
    assert mx.to_scipy("work").toarray().tolist() == [[0, 2, 0, 0], [2, 0, 3, 0], [0, 3, 1, 0], [0, 0, 0, 0]]
    symmetric = sp.csr_array([[0.0, 2], [2, 1]])
    assert Multiplex.from_scipy({"a": symmetric}) == Multiplex.from_edges([0, 1], [1, 1], "a", weight=[2, 1])
    lopsided = sp.csr_array([[0.0, 2], [0, 0]])
    both = Multiplex.from_scipy({"a": symmetric, "b": lopsided})
    assert both.directed
    assert both.layer_sizes.tolist() == [3, 1]


def test_an_undirected_matrix_may_hold_either_triangle():
    lower = sp.csr_array([[0, 0, 0], [2, 0, 0], [0, 3, 0]])
    expected = Multiplex.from_edges([0, 1], [1, 2], "a", weight=[2, 3])
    assert Multiplex.from_scipy({"a": lower}, directed=False) == expected
    assert Multiplex.from_scipy({"a": lower.T}, directed=False) == expected


def test_matrices_that_do_not_fit_are_refused():
    with refuses("matrix", "none"):
        Multiplex.from_scipy({})
    with refuses("2 x 2", "'b'", (3, 3)):
        Multiplex.from_scipy({"a": sp.eye_array(2), "b": sp.eye_array(3)})
    with refuses("weight", -1):
        Multiplex.from_scipy({"a": -sp.eye_array(2)})


# PyKEEN


class Factory:
    """What of PyKEEN's TriplesFactory conversions use."""

    def __init__(self, *, mapped_triples, entity_to_id, relation_to_id):
        self.mapped_triples, self.entity_to_id, self.relation_to_id = mapped_triples, entity_to_id, relation_to_id


@pytest.fixture
def pykeen(monkeypatch):
    """Return PyKEEN's class where it is installed, else a stand-in."""
    try:
        from pykeen.triples import TriplesFactory
    except ImportError:
        monkeypatch.setitem(sys.modules, "pykeen", ModuleType("pykeen"))
        triples = ModuleType("pykeen.triples")
        triples.TriplesFactory = TriplesFactory = Factory
        monkeypatch.setitem(sys.modules, "pykeen.triples", triples)
    return TriplesFactory


def test_triples_by_hand(mx, pykeen):
    """ann-bob, bob-cid and a loop of cid at work, ann-cid at home: both ways, the loop once."""
    factory = mx.to_triples_factory()
    assert type(factory) is pykeen
    expected = [(0, 0, 1), (1, 0, 0), (1, 0, 2), (2, 0, 1), (2, 0, 2), (0, 1, 2), (2, 1, 0)]
    assert sorted(map(tuple, factory.mapped_triples.tolist())) == sorted(expected)
    assert factory.entity_to_id == {"ann": 0, "bob": 1, "cid": 2, "dan": 3}
    assert factory.relation_to_id == {"work": 0, "home": 1}


def test_triples_and_back(pykeen):
    mx = Multiplex.from_edges(["b", "a", "c"], ["a", "c", "c"], ["x", "y", "y"], node_names=["d", "c", "b", "a"],
                              layer_names=["y", "x"], directed=True)  # fmt: skip
    assert Multiplex.from_triples_factory(mx.to_triples_factory()) == mx
    both = mx.to_undirected(self_loops="keep")
    assert Multiplex.from_triples_factory(both.to_triples_factory(), directed=False) == both


def test_triples_without_labels_and_with_inverse_ones():
    """PyKEEN's CoreTriplesFactory knows indices; relations from `real_num_relations` on are inverses."""
    core = type("CoreTriplesFactory", (), {"__module__": "pykeen.triples"})()
    core.mapped_triples = torch.tensor([[0, 0, 2], [2, 1, 0], [1, 0, 2]])
    core.num_entities, core.real_num_relations = 4, 1
    assert bx.read(core) == Multiplex.from_edges([0, 1], [2, 2], [0, 0], num_nodes=4, layer_names=[0], directed=True)


def test_triples_need_pykeen(mx, monkeypatch):
    monkeypatch.setitem(sys.modules, "pykeen.triples", None)
    with refuses("pip install 'banditplex[pykeen]'"):
        mx.to_triples_factory()
