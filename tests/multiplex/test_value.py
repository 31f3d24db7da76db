"""Multiplex as a value: what it answers, what is made from it, and that nothing changes it."""

import copy
import pickle
import tracemalloc
from dataclasses import FrozenInstanceError

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex.multiplex import Multiplex
from tests.io.strategies import multiplexes
from tests.multiplex.plain import edges_of
from tests.refusals import refuses


@pytest.fixture
def mx():
    """Return two layers over four people, dan without any tie.

    work: ann -2- bob, bob -3- cid, cid -1- cid        home: ann -5- cid
    """
    return Multiplex.from_edges(
        ["ann", "bob", "cid", "cid"],
        ["bob", "cid", "cid", "ann"],
        ["work", "work", "work", "home"],
        weight=[2, 3, 1, 5],
        time=[10, 20, 30, 40],
        node_names=["ann", "bob", "cid", "dan"],
        layer_names=["work", "home"],
        node_features=[[0.0], [1.0], [2.0], [3.0]],
        metadata={"year": 1970},
    )


# What it answers


def test_counts(mx):
    assert (mx.num_nodes, mx.num_layers, mx.num_edges) == (4, 2, 4)
    assert mx.layer_sizes.tolist() == [3, 1]
    assert mx.edge_layer.tolist() == [0, 0, 0, 1]


def test_edges_of_a_layer(mx):
    assert mx.edges("work").tolist() == [[0, 1, 2], [1, 2, 2]]
    assert mx.weights("work").tolist() == [2, 3, 1]
    assert mx.times("home").tolist() == [40]
    assert mx.active_nodes("home").tolist() == [0, 2]
    assert mx.edges("work").base is not None  # a view


def test_layers_without_weights_and_times():
    mx = Multiplex.from_edges([0, 1], [1, 2], "a")
    assert mx.weights("a").tolist() == [1, 1]
    assert mx.times("a") is None


def test_indices_of_names(mx):
    assert mx.layer_index("home") == 1
    assert mx.node_index("cid") == 2
    assert mx.node_index([["dan", "ann"], ["bob", "bob"]]).tolist() == [[3, 0], [1, 1]]
    assert mx.node_index([]).tolist() == []
    with refuses("layer", "'hom'", "'home'"):
        mx.edges("hom")
    with refuses("node 7", "'ann', 'bob', 'cid', 'dan'"):
        mx.node_index([7])


def test_names_are_found_to_the_letter():
    mx = Multiplex.from_edges(["a\0"], ["a"], "x")
    assert mx.node_index(["a\0", "a"]).tolist() == [1, 0]


def test_pairs_that_are_edges(mx):
    pairs = [[0, 1], [1, 0], [0, 2], [2, 2], [3, 3]]
    assert mx.has_edges(pairs, "work").tolist() == [True, True, False, True, False]
    assert mx.has_edges(np.empty((0, 2)), "work").tolist() == []
    with refuses("node", "0 to 3", 5):
        mx.has_edges([[0, 5]], "work")
    arcs = Multiplex.from_edges([0, 1], [1, 2], "a", directed=True)
    assert arcs.has_edges([[0, 1], [1, 0]], "a").tolist() == [True, False]


@given(mx=multiplexes())
def test_has_edges_agrees_with_a_plain_loop(mx):
    pairs = [(u, v) for u in range(mx.num_nodes) for v in range(mx.num_nodes)]
    for layer in mx.layer_names:
        known = set(map(tuple, mx.edges(layer).T.tolist()))
        expected = [(u, v) in known or (not mx.directed and (v, u) in known) for u, v in pairs]
        assert mx.has_edges(pairs, layer).tolist() == expected


# What is made from it


def test_subset_of_layers(mx):
    home = mx.subset(layers=["home"])
    assert (home.layer_names, home.num_nodes, home.edges("home").tolist()) == (("home",), 4, [[0], [2]])
    assert (home.weight.tolist(), home.time.tolist(), home.metadata["year"]) == ([5], [40], 1970)
    swapped = mx.subset(layers=["home", "work"])
    assert swapped.layer_names == ("home", "work")
    assert edges_of(swapped) == edges_of(mx)
    assert mx.subset(layers=[]).num_layers == 0


def test_subset_of_nodes(mx):
    few = mx.subset(nodes=["cid", "dan", "ann"])
    assert few.node_names.tolist() == ["cid", "dan", "ann"]
    assert few.layer_sizes.tolist() == [1, 1]
    assert few.edges("home").tolist() == [[0], [2]]  # cid - ann, by their new indices
    assert few.edges("work").tolist() == [[0], [0]]
    assert few.weight.tolist() == [1, 5]
    assert few.node_features.tolist() == [[2], [3], [0]]


@pytest.mark.parametrize("chosen", [{"layers": ["work", "work"]}, {"nodes": ["ann", "ann"]}])
def test_nothing_is_chosen_twice(mx, chosen):
    with refuses("distinct", *(repr(names[0]) for names in chosen.values())):
        mx.subset(**chosen)


@given(mx=multiplexes(), data=st.data())
def test_subset_agrees_with_a_plain_loop(mx, data):
    layers = data.draw(st.lists(st.sampled_from(mx.layer_names), unique=True))
    nodes = data.draw(st.lists(st.sampled_from(mx.node_names.tolist()), unique=True))
    chosen = mx.subset(layers=layers, nodes=nodes)
    expected = {
        _oriented(edge, nodes, mx.directed): values
        for edge, values in edges_of(mx).items()
        if edge[0] in layers and edge[1] in nodes and edge[2] in nodes
    }
    assert edges_of(chosen) == expected
    assert list(chosen.layer_names) == layers
    assert chosen.node_names.tolist() == nodes
    if mx.node_features is not None:
        rows = {name: row.tolist() for name, row in zip(mx.node_names.tolist(), mx.node_features, strict=True)}
        assert chosen.node_features.tolist() == [rows[name] for name in nodes]


def _oriented(edge, nodes, directed):
    """Return an undirected edge with the node that comes first in `nodes` first."""
    layer, u, v = edge
    return edge if directed or nodes.index(u) <= nodes.index(v) else (layer, v, u)


def test_union_adds_up_weights(mx):
    union = mx.union()
    assert union.layer_names == ("union",)
    assert union.edge_index.tolist() == [[0, 0, 1, 2], [1, 2, 2, 2]]
    assert union.weight.tolist() == [2, 5, 3, 1]
    assert union.time.tolist() == [10, 40, 20, 30]


def test_union_without_weights_counts_layers():
    union = Multiplex.from_edges([0, 1, 0], [1, 0, 2], ["a", "b", "b"]).union()
    assert union.edge_index.tolist() == [[0, 0], [1, 2]]
    assert union.weight.tolist() == [2, 1]
    assert Multiplex.from_edges([0, 1], [1, 2], ["a", "b"]).union().weight is None


@given(mx=multiplexes(weights=False))
def test_union_agrees_with_a_plain_loop(mx):
    count, earliest = {}, {}
    for (_, u, v), (_, time) in edges_of(mx).items():
        count[u, v] = count.get((u, v), 0) + 1
        earliest[u, v] = time if (u, v) not in earliest or time is None else min(earliest[u, v], time)
    found = edges_of(mx.union())
    assert found == {("union", *pair): (count[pair], earliest[pair]) for pair in count}


def test_to_undirected_merges_directions_and_drops_loops():
    arcs = Multiplex.from_edges([0, 1, 1, 2], [1, 0, 1, 1], ["a", "a", "a", "b"], weight=[1, 2, 4, 8], directed=True)
    assert arcs.to_undirected() == Multiplex.from_edges([0, 1], [1, 2], ["a", "b"], weight=[3, 8])
    plain = Multiplex.from_edges([0, 1], [1, 0], "a", directed=True)
    assert plain.to_undirected() == Multiplex.from_edges([0], [1], "a")


def test_to_undirected_of_undirected_only_drops_loops(mx):
    assert edges_of(mx.to_undirected()) == {edge: values for edge, values in edges_of(mx).items() if edge[1] != edge[2]}
    simple = mx.to_undirected()
    assert simple.to_undirected() is simple


@given(mx=multiplexes(weights=False))
def test_to_undirected_agrees_with_networkx(mx):
    simple = mx.to_undirected()
    for layer in mx.layer_names:
        graph = nx.Graph(mx.edges(layer).T.tolist())
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        assert set(map(tuple, simple.edges(layer).T.tolist())) == {(min(e), max(e)) for e in graph.edges}


def test_metadata_is_added_to_a_copy(mx):
    more = mx.with_metadata(place="here")
    assert dict(more.metadata) == {"year": 1970, "place": "here"}
    assert dict(mx.metadata) == {"year": 1970}
    assert more == mx


def test_node_features_are_given_to_a_copy(mx):
    given = np.arange(2.0 * mx.num_nodes).reshape(-1, 2)
    more = mx.with_node_features(given)
    given[:] = -1
    assert more.node_features.tolist() == [[2.0 * i, 2.0 * i + 1] for i in range(mx.num_nodes)]
    assert more.with_node_features(None).node_features is None
    assert more.with_node_features(mx.node_features) == mx
    with refuses("node features", "(4, F)", (3, 2)):
        mx.with_node_features(given[1:])


# That nothing changes it


def test_it_is_frozen(mx):
    with pytest.raises(FrozenInstanceError):
        mx.directed = True
    for name in ("edge_index", "layer_offsets", "node_names", "weight", "time", "node_features"):
        with refuses("read-only", error=ValueError):
            getattr(mx, name)[0] = 0
    with pytest.raises(TypeError):
        mx.metadata["year"] = 2000


def test_the_callers_arrays_stay_the_callers():
    """Edges that come in order already could be kept as they are: they must not be."""
    given_ = {
        "weight": np.array([1.0, 2.0]),
        "time": np.array([1, 2]),
        "node_names": np.array([3, 4, 5]),
        "node_features": np.zeros((3, 1)),
    }
    mx = Multiplex.from_indices([0, 1], [1, 2], [0, 0], layer_names=["a"], directed=True, **given_)
    before = pickle.loads(pickle.dumps(mx))
    for array in given_.values():
        array[:] = 9
    assert mx == before


def test_equality_sees_every_part(mx):
    rebuilt = {
        "source": ["ann", "bob", "cid", "cid"], "destination": ["bob", "cid", "cid", "ann"],
        "layer": ["work", "work", "work", "home"], "weight": [2, 3, 1, 5], "time": [10, 20, 30, 40],
        "node_names": ["ann", "bob", "cid", "dan"], "layer_names": ["work", "home"],
        "node_features": [[0.0], [1.0], [2.0], [3.0]],
    }  # fmt: skip
    assert Multiplex.from_edges(**rebuilt) == mx
    for change in (
        {"weight": [2, 3, 1, 6]}, {"weight": None}, {"time": [10, 20, 30, 41]}, {"time": None}, {"directed": True},
        {"node_names": ["ann", "bob", "cid", "eve"]}, {"layer_names": ["home", "work"]}, {"node_features": None},
        {"layer": ["work", "work", "home", "home"]}, {"destination": ["bob", "cid", "bob", "ann"]},
    ):  # fmt: skip
        assert Multiplex.from_edges(**rebuilt | change) != mx
    assert mx != "mx"
    assert Multiplex.from_edges([1], [2], "a") != Multiplex.from_edges(["1"], ["2"], "a")
    with pytest.raises(TypeError):
        hash(mx)


@given(mx=multiplexes(metadata=True))
def test_it_travels_by_pickle_and_copy(mx):
    _ = mx.type_index, mx.node_index(mx.node_names)  # caches, which need not travel
    for back in (pickle.loads(pickle.dumps(mx)), copy.deepcopy(mx), copy.copy(mx)):
        assert back == mx
        assert back.metadata == mx.metadata
        assert not back.edge_index.flags.writeable


def test_repr_says_what_it_is(mx):
    assert repr(mx) == (
        "Multiplex(4 nodes, 2 layers, 4 edges, undirected, weighted, timed, 1 node feature): 'work' (3), 'home' (1)"
    )
    many = Multiplex.from_edges(range(6), range(1, 7), range(6), directed=True)
    assert repr(many) == ("Multiplex(7 nodes, 6 layers, 6 edges, directed): 0 (1), 1 (1), 2 (1), 3 (1), ... 2 more")
    assert repr(Multiplex.from_edges([], [], [])) == "Multiplex(0 nodes, 0 layers, 0 edges, undirected)"


def test_memory_never_grows_with_layers_times_nodes():
    """5,000 layers x 100,000 nodes would be 500 million entries; 20,000 edges and 100,000 names are a few megabytes."""
    rng = np.random.default_rng(0)
    num_nodes, num_layers, num_edges = 100_000, 5_000, 20_000
    columns = rng.integers(0, num_nodes, num_edges), rng.integers(0, num_nodes, num_edges)
    layer = rng.integers(0, num_layers, num_edges)
    tracemalloc.start()
    mx = Multiplex.from_edges(*columns, layer, num_nodes=num_nodes, layer_names=range(num_layers))
    _ = mx.summary(), mx.union(), mx.to_undirected(), mx.subset(layers=range(0, num_layers, 2))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert mx.num_layers == num_layers
    assert peak < 40 * 2**20


@given(mx=multiplexes(), data=st.data())
def test_edges_that_are_kept(mx, data):
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=mx.num_edges, max_size=mx.num_edges)), np.bool_)
    kept = mx.keep_edges(keep)
    rows = zip(mx.edge_layer.tolist(), *mx.edge_index.tolist(), strict=True)
    left = {row for row, chosen in zip(rows, keep.tolist(), strict=True) if chosen}
    assert set(zip(kept.edge_layer.tolist(), *kept.edge_index.tolist(), strict=True)) == left
    assert edges_of(kept).items() <= edges_of(mx).items()
    assert (kept.layer_names, kept.num_nodes) == (mx.layer_names, mx.num_nodes)


@pytest.mark.parametrize("keep", [[True], [1, 0, 1], [[True, True, True]]])
def test_what_does_not_say_for_each_edge_whether_to_keep_it_is_refused(keep):
    mx = Multiplex.from_edges([0, 1, 2], [1, 2, 3], "a")
    with refuses(3, "edge", np.asarray(keep).dtype, np.shape(keep)):
        mx.keep_edges(keep)


def test_tables_of_pandas_name_the_nodes(mx):
    """In any order; without names in the index, rows are in the order of nodes."""
    table = pd.DataFrame({"age": [3.0, 1.0, 4.0, 2.0]}, index=["cid", "ann", "dan", "bob"])
    assert mx.with_node_features(table).node_features.ravel().tolist() == [1, 2, 3, 4]
    assert mx.with_node_features(table.reset_index(drop=True)).node_features.ravel().tolist() == [3, 1, 4, 2]
    types = pd.Series(["c", "a", "d", "b"], index=table.index)
    assert mx.with_node_types(types).node_types.tolist() == ["a", "b", "c", "d"]
    with refuses("features", "dan"):
        mx.with_node_features(table.drop("dan"))
    with refuses("'ann'"):
        mx.with_node_features(pd.concat([table, table.loc[["ann"]]]))
