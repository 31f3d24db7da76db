"""From loose columns to sorted, merged, checked edges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex.multiplex import Multiplex, build
from banditplex.multiplex.build import EdgeError
from banditplex.multiplex.names import NameIndex, as_names, factorize
from tests.multiplex.plain import edges_of, merge, raw_rows
from tests.refusals import refuses


def from_rows(rows, **options):
    """Build from (layer, source, destination, weight, time) rows over nodes 0..4 and layers 0..2."""
    layer, source, destination, weight, time = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return Multiplex.from_edges(
        source, destination, layer, weight=list(map(float, weight)), time=list(map(int, time)),
        num_nodes=5, layer_names=[0, 1, 2], **options,
    )  # fmt: skip


# By hand


def test_edges_are_sorted_by_layer_source_destination():
    mx = Multiplex.from_edges([3, 1, 2, 0], [0, 2, 1, 1], ["b", "a", "b", "b"], weight=[3, 1, 2, 4], directed=True)
    assert mx.layer_names == ("a", "b")
    assert mx.edge_index.tolist() == [[1, 0, 2, 3], [2, 1, 1, 0]]
    assert mx.layer_offsets.tolist() == [0, 1, 4]
    assert mx.weight.tolist() == [1, 4, 2, 3]


def test_undirected_edges_are_stored_smaller_index_first():
    mx = Multiplex.from_edges(["z", "m"], ["a", "z"], "x")
    assert mx.node_names.tolist() == ["a", "m", "z"]
    assert mx.edges("x").tolist() == [[0, 1], [2, 2]]


def test_duplicates_follow_their_rule():
    columns = [0, 1, 0], [1, 0, 1], "a"
    more = {"weight": [1, 2, 4], "time": [7, 5, 9]}
    summed = Multiplex.from_edges(*columns, **more)
    assert (summed.weight.tolist(), summed.time.tolist()) == ([7], [5])
    largest = Multiplex.from_edges(*columns, **more, duplicates="max")
    assert (largest.weight.tolist(), largest.time.tolist()) == ([4], [5])
    arcs = Multiplex.from_edges(*columns, **more, directed=True)
    assert (arcs.weight.tolist(), arcs.time.tolist()) == ([5, 2], [7, 5])
    assert Multiplex.from_edges(*columns).weight is None


@pytest.mark.parametrize("more", [{}, {"weight": [1, 2, 3, 4]}, {"time": [1, 2, 3, 4]}])
def test_duplicates_can_be_refused(more):
    with refuses("edge 3", error=EdgeError) as caught:
        Multiplex.from_edges([5, 0, 1, 1], [6, 1, 2, 0], ["a", "b", "b", "b"], duplicates="error", **more)
    assert caught.value.edge == 3
    Multiplex.from_edges([5, 0, 1], [6, 1, 2], ["a", "b", "b"], duplicates="error")


def test_self_loops_follow_their_rule():
    columns = [0, 1], [1, 1], ["a", "b"]
    assert Multiplex.from_edges(*columns, weight=[2, 3]).layer_sizes.tolist() == [1, 1]
    dropped = Multiplex.from_edges(*columns, weight=[2, 3], time=[4, 5], self_loops="drop")
    assert (dropped.layer_sizes.tolist(), dropped.weight.tolist(), dropped.time.tolist()) == ([1, 0], [2], [4])
    with refuses("node 1", "'b'", "edge 1", error=EdgeError):
        Multiplex.from_edges(*columns, self_loops="error")


def test_weights_of_one_are_no_weights():
    assert Multiplex.from_edges([0, 1], [1, 2], "a", weight=[1, 1.0]).weight is None
    assert Multiplex.from_edges([0, 0], [1, 1], "a", weight=[0.5, 0.5]).weight is None
    assert Multiplex.from_edges([0, 0], [1, 1], "a", weight=[1, 1]) == Multiplex.from_edges([0, 0], [1, 1], "a")


def test_times_may_be_dates():
    mx = Multiplex.from_edges([0], [1], "a", time=np.array(["1970-01-02"], "datetime64[D]"))
    assert mx.time.tolist() == [86400 * 10**9]
    assert Multiplex.from_edges([0], [1], "a", time=[1.5]).time.dtype == np.float64


def test_declared_names_keep_their_order_and_isolated_nodes():
    mx = Multiplex.from_edges(["b"], ["a"], ["y"], node_names=["c", "b", "a"], layer_names=["z", "y"])
    assert mx.node_names.tolist() == ["c", "b", "a"]
    assert mx.layer_names == ("z", "y")
    assert mx.edges("y").tolist() == [[1], [2]]
    assert mx.num_nodes == 3


def test_indices_may_be_named():
    mx = Multiplex.from_edges([0, 1], [1, 2], "a", num_nodes=3, node_names=["x", "y", "z"])
    assert mx.edges("a").tolist() == [[0, 1], [1, 2]]
    assert mx.node_names.tolist() == ["x", "y", "z"]


def test_nothing_at_all_is_a_multiplex():
    mx = Multiplex.from_edges([], [], [])
    assert (mx.num_nodes, mx.num_layers, mx.num_edges) == (0, 0, 0)


# Second opinions


@given(rows=raw_rows, directed=st.booleans(), duplicates=st.sampled_from(["sum", "max"]))
def test_merging_agrees_with_a_plain_loop(rows, directed, duplicates):
    mx = from_rows(rows, directed=directed, duplicates=duplicates)
    if all(weight == 1 for _, _, _, weight, _ in rows):  # no weights: nothing to add up
        duplicates = "max"
    assert edges_of(mx) == merge(rows, directed=directed, duplicates=duplicates)
    triples = list(zip(mx.edge_layer.tolist(), *mx.edge_index.tolist(), strict=True))
    assert triples == sorted(triples)


@given(rows=raw_rows, directed=st.booleans())
def test_the_unpacked_sort_agrees_with_the_packed_one(rows, directed):
    """With 2**40 nodes the three indices do not fit into one key."""
    layer, source, destination, weight, time = np.array(rows, np.float64).reshape(-1, 5).T
    columns = [column.astype(np.int64) for column in (source, destination, layer)]
    options = {"num_layers": 3, "weight": weight, "time": time, "directed": directed, "duplicates": "sum"}
    packed = build.sort_edges(*columns, num_nodes=5, **options)
    unpacked = build.sort_edges(*columns, num_nodes=2**40, **options)
    for column, other in zip(packed, unpacked, strict=True):
        assert column.tolist() == other.tolist()


@given(keys=st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 3), max_size=30))
def test_the_stable_order_is_that_of_a_stable_sort(keys):
    key = np.array(keys, np.int64)
    assert build.stable_order(key, 63).tolist() == sorted(range(len(keys)), key=keys.__getitem__)


@pytest.mark.parametrize("bits", [5, 20, 47, 48, 63])
def test_the_stable_order_of_many_keys(bits):
    key = np.random.default_rng(bits).integers(0, 2 ** min(bits, 62), 50_000) // 3
    assert np.array_equal(build.stable_order(key, bits), np.argsort(key, kind="stable"))


integers = st.one_of(st.integers(0, 9), st.integers(2**63 - 5, 2**63 - 1), st.integers(-(2**63), 2**63 - 1))


@given(values=st.lists(integers, max_size=20) | st.lists(st.text(max_size=2), max_size=20))
def test_factorize_agrees_with_sorted_sets(values):
    names, codes = factorize(as_names(values, "node"))
    assert names.tolist() == sorted(set(values))
    assert [names[code] for code in codes] == values
    assert codes.dtype == np.int64


@given(names=st.lists(integers, unique=True, max_size=20), wanted=st.lists(integers, max_size=10))
def test_integers_are_found_where_they_stand(names, wanted):
    found = NameIndex(as_names(names, "node"), "node").find(np.array(wanted, np.int64))
    assert found.tolist() == [names.index(name) if name in names else -1 for name in wanted]


def test_many_strings_are_found_where_they_stand():
    names = [f"n{i}" for i in range(500)]
    wanted = [f"n{i * 7 % 600}" for i in range(20_000)]
    found = NameIndex(as_names(names, "node"), "node").find(as_names(wanted, "node"))
    assert found.tolist() == [i * 7 % 600 if i * 7 % 600 < 500 else -1 for i in range(20_000)]


# What is refused

BAD = {
    "lengths": (([0, 1], [1], "a"), {}, ["source", "destination", "layer", "2, 1 and 2"]),
    "beyond": (
        ([0, 1], [1, 2], "a"),
        {"num_nodes": 2},
        ["node", "0 to 1", "got 2", "'a'", "edge 1"],
    ),
    "negative index": (([-1], [1], "a"), {"num_nodes": 2}, ["node", "0 to 1", -1, "'a'", "edge 0"]),
    "strings as indices": (
        (["a"], ["b"], "a"),
        {"num_nodes": 2},
        ["integer", "num_nodes", "strings"],
    ),
    "name count": (([0], [1], "a"), {"num_nodes": 2, "node_names": [1]}, ["2 node names", 1]),
    "mixed ends": (([0], ["b"], "a"), {}, ["strings", "integers", "both"]),
    "mixed column": (
        ([0, "a"], [1, 2], "a"),
        {"node_names": [0, "a"]},
        ["strings", "integers", "int and str"],
    ),
    "fractions": (([0.5], [1], "a"), {}, ["strings", "integers", "float"]),
    "booleans": (([True], [1], "a"), {}, ["strings", "integers", "bool"]),
    "mixed kinds": (([1, True], [1, 2], "a"), {}, ["strings", "integers", "bool and int"]),
    "table": (([[0]], [1], "a"), {}, ["node", (1, 1)]),
    "huge": (([2**64], [1], "a"), {}, ["node", "2**63", 2**64]),
    "unknown node": (
        (["x"], ["anne"], "a"),
        {"node_names": ["x", "anna"]},
        ["node", "'anne'", "'anna'"],
    ),
    "unknown layer": (([0], [1], [5]), {"layer_names": [1, 2]}, ["layer 5", "1, 2"]),
    "node twice": (([0], [1], "a"), {"node_names": [0, 1, 1]}, ["distinct node", 1]),
    "index twice": (
        ([0], [1], "a"),
        {"num_nodes": 2, "node_names": ["x", "x"]},
        ["distinct node", "'x'"],
    ),
    "layer twice": (
        ([0], [1], ["a"]),
        {"layer_names": ["a", "a"]},
        ["distinct layer", "'a'"],
    ),
    "nan": (([0, 0], [1, 2], "a"), {"weight": [1, np.nan]}, ["weight", "nan", "edge 1"]),
    "infinite": (([0], [1], "a"), {"weight": [np.inf]}, ["weight", "inf", "edge 0"]),
    "negative": (([0], [1], "a"), {"weight": [-1]}, ["weight", -1.0, "edge 0"]),
    "text weight": (([0], [1], "a"), {"weight": ["1"]}, ["weights", "<U1"]),
    "weight count": (
        ([0], [1], "a"),
        {"weight": [1, 2]},
        ["weights", "1 edge", (2,)],
    ),
    "no time": (([0], [1], "a"), {"time": np.array(["NaT"], "datetime64[s]")}, ["time", "NaT", "edge 0"]),
    "nan time": (([0], [1], "a"), {"time": [np.nan]}, ["time", "nan", "edge 0"]),
    "features": (
        ([0], [1], "a"),
        {"node_features": [1, 2]},
        ["node features", "(2, F)", (2,)],
    ),
    "nan feature": (
        ([0], [1], "a"),
        {"node_features": [[1], [np.nan]]},
        ["node features", "nan", "node 1", "column 0"],
    ),
    "duplicates": (
        ([0], [1], "a"),
        {"duplicates": "add"},
        ["duplicates", "sum, max, error", "'add'"],
    ),
    "self loops": (
        ([0], [1], "a"),
        {"self_loops": "no"},
        ["self_loops", "keep, drop, error", "'no'"],
    ),
}


@pytest.mark.parametrize(("columns", "options", "named"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(columns, options, named):
    with refuses(*named):
        Multiplex.from_edges(*columns, **options)


@pytest.mark.parametrize(("layer", "named"), [([2], ["layer", "0 to 1", 2, "edge 0"]), ([0.0], ["indices", "float64"])])
def test_bad_indices_are_refused(layer, named):
    with refuses(*named):
        Multiplex.from_indices([0], [1], layer, node_names=["a", "b"], layer_names=["x", "y"])


def test_small_integers_do_not_overflow():
    """Indices that come as int8 are packed into int64 keys."""
    mx = Multiplex.from_indices(
        np.array([100], np.int8), np.array([101], np.int8), np.array([1], np.int8),
        node_names=np.arange(102), layer_names=["a", "b"],
    )  # fmt: skip
    assert mx.edges("b").tolist() == [[100], [101]]
