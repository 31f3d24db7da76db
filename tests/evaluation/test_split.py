"""Splits: every rule is checked with plain sets, on small random and handmade multiplexes."""

import gc
import itertools
import os
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banditplex.datasets import fetch, load_dataset
from banditplex.evaluation import Split, fixed_split, k_fold, split, temporal_split
from banditplex.multiplex import Multiplex
from tests.evaluation.plain import edge_sets, everywhere, held_out, linked, multiplexes
from tests.io.checks import lay_out
from tests.refusals import refuses

HIDES = pytest.mark.parametrize("hide", ["layer", "pair"])


def dense(seed=0, directed=False, **options):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 20, (2, 160))
    return Multiplex.from_edges(*ends, np.repeat(["a", "b"], [100, 60]), num_nodes=20, directed=directed, **options)


def assert_valid(mx, data, hide):
    """Check what must hold for any split of `mx`, with plain loops."""
    whole, train, visible = edge_sets(mx), edge_sets(data.train), linked(data.train)
    union, left = everywhere(mx), everywhere(data.train)
    dense = mx.num_nodes * (mx.num_nodes - 1) / 2 - len(union) < len(union) / 3
    for name, (positive, negative) in held_out(data).items():
        assert len(set(positive)) == len(positive) == len(set(negative)) == len(negative)
        assert set(positive) <= whole[name]
        assert train[name] <= whole[name]
        for u, v in positive + negative:
            assert u != v
            assert frozenset((u, v)) not in (left if hide == "pair" else visible[name])
        for pair in map(frozenset, negative):
            assert pair not in (union if hide == "pair" and not dense else linked(mx)[name])


@HIDES
@given(mx=multiplexes(), share=st.sampled_from([0.1, 0.2, 0.5, 0.9]), seed=st.integers(0, 3))
def test_a_ratio_split_keeps_its_rules(hide, mx, share, seed):
    data = split(mx, hide=hide, share=share, seed=seed)
    assert_valid(mx, data, hide)
    data.check()
    data.check(full=mx)
    whole, train = edge_sets(mx), edge_sets(data.train)
    for name, (positive, _) in held_out(data).items():
        assert set(positive) == whole[name] - train[name]
        out = {frozenset(pair) for pair in positive}
        if hide == "layer":
            size = len(linked(mx)[name])
            assert len(out) == (min(max(round(share * size), 1), size - 1) if size > 1 else 0)
    if hide == "pair":
        size = len(everywhere(mx))
        assert len(everywhere(mx) - everywhere(data.train)) == min(max(round(share * size), 1), size - 1)


@HIDES
@given(mx=multiplexes(path=6), folds=st.integers(2, 6), seed=st.integers(0, 3))
def test_over_the_folds_every_edge_is_held_out_once(hide, mx, folds, seed):
    count = {name: dict.fromkeys(edges, 0) for name, edges in edge_sets(mx).items()}
    sizes = []
    for data in k_fold(mx, hide=hide, folds=folds, seed=seed):
        assert_valid(mx, data, hide)
        data.check(full=mx)
        sizes.append({name: len({*map(frozenset, positive)}) for name, (positive, _) in held_out(data).items()})
        for name, (positive, _) in held_out(data).items():
            for pair in positive:
                count[name][pair] += 1
    assert len(sizes) == folds
    for name, edges in count.items():
        tested = hide == "pair" or len(linked(mx)[name]) > 1
        assert all(times == (tested and u != v) for (u, v), times in edges.items())
        if hide == "layer":
            each = [fold[name] for fold in sizes]
            assert max(each) - min(each) <= 1


@HIDES
@given(mx=multiplexes(times=True), after=st.integers(0, 9))
def test_a_temporal_split_tests_new_pairs_after_the_cut(hide, mx, after):
    times = {name: dict(zip(map(tuple, mx.edges(name).T.tolist()), mx.times(name), strict=True)) for name in "abc"}
    early = {name: {frozenset(pair) for pair, time in times[name].items() if time <= after} for name in "abc"}
    before = {name: set().union(*early.values()) if hide == "pair" else early[name] for name in "abc"}
    expected = {
        name: {
            pair
            for pair, time in times[name].items()
            if time > after and pair[0] != pair[1] and frozenset(pair) not in before[name]
        }
        for name in "abc"
    }
    if not any(expected.values()):
        with refuses("new pairs", after):
            temporal_split(mx, hide=hide, after=after)
        return
    data = temporal_split(mx, hide=hide, after=after)
    assert_valid(mx, data, hide)
    data.check(full=mx)
    assert {name: set(held_out(data)[name][0]) for name in "abc"} == expected
    assert data.train.num_edges == sum(time <= after for edges in times.values() for time in edges.values())


def test_the_share_of_a_temporal_split_is_that_of_the_last_edges():
    mx = Multiplex.from_edges(range(10), range(1, 11), "a", time=np.arange(10)[::-1], num_nodes=11)
    assert sorted(map(tuple, temporal_split(mx, hide="layer", share=0.3).pairs[:3].tolist())) == [
        (0, 1),
        (1, 2),
        (2, 3),
    ]
    level = Multiplex.from_edges(range(10), range(1, 11), "a", time=[0] * 6 + [1] * 4, num_nodes=11)
    assert temporal_split(level, hide="layer", share=0.4).train.num_edges == 6
    with refuses("new pairs", "after 1", "0 to 1"):
        temporal_split(level, hide="layer", share=0.3)  # the last 4 edges have the same time: more than the share


def test_a_temporal_split_takes_dates():
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[D]")
    mx = Multiplex.from_edges([0, 1, 2], [1, 2, 3], "a", time=days, num_nodes=4)
    for after in ("2020-01-02", days[1], days.astype(object)[1]):
        assert temporal_split(mx, hide="layer", after=after).test("a")[0][0].tolist() == [2, 3]
    with refuses("after 2020-01-03,", "2020-01-01 to 2020-01-03."):
        temporal_split(mx, hide="layer", after="2020-01-03")
    with refuses("after 2020-01-03T12:00:00,"):
        temporal_split(mx, hide="layer", after="2020-01-03T12:00")
    with refuses("times", "`time`"):
        temporal_split(dense(), hide="layer")


def test_both_edges_of_a_pair_are_held_out_together():
    """Every pair is linked in both directions: no held-out edge may have its reverse in training."""
    ends = np.array(np.triu_indices(14, 1))[:, ::3]
    mx = Multiplex.from_edges(*np.concatenate([ends, ends[::-1]], axis=1), "a", num_nodes=14, directed=True)
    for data in [split(mx, hide="layer"), *k_fold(mx, hide="pair", folds=3)]:
        positive = set(held_out(data)["a"][0])
        assert positive
        assert positive == {(v, u) for u, v in positive}


def test_small_layers_are_not_split():
    """Layer a has 4 edges, b has 1 (and a loop), c has only a loop, d nothing."""
    mx = Multiplex.from_edges(
        [0, 0, 1, 2, 0, 3, 5], [1, 2, 2, 3, 5, 3, 5], list("aaaabbc"), layer_names=list("abcd"), num_nodes=6
    )
    for data in [split(mx, hide="layer"), *k_fold(mx, hide="layer", folds=4)]:
        assert data.train.layer_sizes.tolist() == [3, 2, 1, 0]
        assert np.unique(data.layer).tolist() == [0]
    emptied = [data for data in k_fold(mx, hide="pair", folds=5) if len(data.test("b")[0])]
    assert [data.train.edges("b").T.tolist() for data in emptied] == [[[3, 3]]]
    tiny = Multiplex.from_edges([0, 1], [0, 2], ["a", "b"], num_nodes=4)
    with refuses("layer", "at least 2", "got 1"):
        split(tiny, hide="layer")
    with refuses("at least 5", "got 1"):
        k_fold(tiny, hide="pair")
    with refuses("at least 2", "got 0"):
        split(Multiplex.from_edges([], [], "a", layer_names=["a"], num_nodes=0), hide="layer")


def test_held_out_edges_depend_on_the_seed_and_not_on_negatives():
    mx = dense(directed=True)
    first, again, other = (split(mx, hide="layer", seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.pairs, again.pairs)
    assert first.train != other.train
    for options in ({"negatives": "degree"}, {"each": 7}):
        assert split(mx, hide="layer", seed=0, **options).train == first.train


def test_weights_and_times_stay_beside_their_edges():
    mx = dense(weight=np.arange(160) + 1.0, time=np.arange(160))
    data = split(mx, hide="pair")
    for name in "ab":
        whole = {tuple(e): (w, t) for e, w, t in zip(mx.edges(name).T.tolist(), mx.weights(name), mx.times(name))}  # noqa: B905
        train = data.train
        for edge, weight, time in zip(
            train.edges(name).T.tolist(), train.weights(name), train.times(name), strict=True
        ):
            assert whole[tuple(edge)] == (weight, time)


@HIDES
def test_a_validation_split_is_one_of_the_training_graph(hide):
    mx = dense(seed=3)
    data = split(mx, hide=hide, seed=1)
    inner = data.validation(share=0.25, seed=2, each=3)
    inner.check(full=data.train)
    expected = split(data.train, hide=hide, share=0.25, seed=2, each=3)
    assert inner.train == expected.train
    assert np.array_equal(inner.negatives, expected.negatives)
    tested = {name: {frozenset(pair) for pair in sets[0]} for name, sets in held_out(data).items()}
    for name, (positive, _) in held_out(inner).items():
        assert not tested[name] & {frozenset(pair) for pair in positive}


def test_ranking_hands_out_the_negatives_of_a_layer():
    data = split(dense(), hide="layer", each=4)
    for name in "ab":
        pairs, label = data.test(name)
        positives, negatives = data.ranking(name)
        assert np.array_equal(positives, pairs[label == 1])
        assert negatives.shape == (len(positives), 4, 2)
    with refuses("`each`", "negatives='hard'"):
        split(dense(), hide="layer").ranking("a")


def test_options_are_checked():
    mx = dense()
    with refuses("hide", "layer, pair", "'edge'"):
        split(mx, hide="edge")
    with refuses("share", 1.0):
        split(mx, hide="layer", share=1.0)
    with refuses("share", "got 0"):
        temporal_split(dense(time=np.arange(160)), hide="layer", share=0)
    with refuses("folds", 2, "got 1"):
        k_fold(mx, hide="layer", folds=1)
    with refuses("negatives", "uniform, degree, hard", "'easy'"):
        k_fold(mx, hide="layer", negatives="easy")
    with refuses("each", -1):
        split(mx, hide="layer", each=-1)


class Spy:
    """A scorer that follows all references from the multiplex it is given."""

    def fit(self, mx, targets=None, on_epoch=None):
        self.arrays, seen, todo = [], {id(mx)}, [mx]
        while todo:
            current = todo.pop()
            if isinstance(current, np.ndarray):
                self.arrays.append(current)
            for other in [*gc.get_referents(current), getattr(current, "base", None)]:
                is_code = isinstance(other, type | type(gc) | type(len) | type(dense)) or other is None
                if id(other) not in seen and not is_code:
                    seen.add(id(other))
                    todo.append(other)
        return self


@HIDES
def test_nothing_of_the_full_graph_can_be_reached_from_what_fit_is_given(hide):
    mx = dense(weight=np.arange(160) + 1.0, time=np.arange(160))
    assert mx.type_index.size  # cached arrays of the full multiplex must not leak either
    for data in [split(mx, hide=hide, each=2), *k_fold(mx, hide=hide, folds=2), temporal_split(mx, hide=hide)]:
        spy = Spy().fit(data.train)
        assert any(array.shape == data.train.edge_index.shape for array in spy.arrays)
        secrets = [mx.edge_index, mx.weight, mx.time, mx.type_index, data.pairs]
        for array in spy.arrays:
            assert mx.num_edges not in array.shape
            assert not any(np.shares_memory(array, secret) for secret in secrets)


@pytest.fixture
def folder(tmp_path):
    """GATNE's three files: two test pairs leak, as (1, 0) is the reverse of an edge and (3, 4) is listed twice."""
    files = {
        "train.txt": "1 0 1\n1 1 2\n1 2 3\n",
        "valid.txt": "1 2 4 1\n1 5 0 0\n1 5 2 0\n",
        "test.txt": "1 1 0 1\n1 3 4 1\n1 4 3 1\n1 5 0 0\n1 5 1 0\n",
    }
    lay_out(tmp_path / "gatne", files)
    return tmp_path / "gatne"


def test_a_fixed_split_reads_the_files(folder):
    with refuses(folder, "leaks", "got 3"):
        fixed_split(folder)
    with refuses("leaks", "error, drop, keep", "'yes'"):
        fixed_split(folder, leaks="yes")
    kept = fixed_split(folder, leaks="keep")
    names = kept.test.train.node_names
    assert names[kept.test.pairs].tolist() == [[1, 0], [3, 4], [4, 3], [5, 0], [5, 1]]
    assert kept.test.label.tolist() == [1, 1, 1, 0, 0]
    assert kept.valid.train is kept.test.train
    with refuses((1, 0), "training", "layer 1"):
        kept.test.check()
    clean = fixed_split(folder, leaks="drop")
    assert (kept.hide, clean.hide) == ("edge", "layer")  # (1, 0) shows (0, 1)
    clean.test.check()
    clean.valid.check()
    assert names[clean.test.pairs].tolist() == [[3, 4], [5, 0], [5, 1]]
    assert names[clean.valid.pairs].tolist() == [[2, 4], [5, 2]]  # (5, 0) is a test pair


def test_a_split_made_by_hand_can_be_checked():
    mx = dense()
    pair = next((u, v) for u, v in mx.edges("a").T.tolist() if u != v)
    with refuses(tuple(pair), "training", "layer 'a'"):
        Split(mx, "layer", np.array([0]), np.array([pair]), np.array([1])).check()


def test_the_spy_finds_a_nested_reference():
    mx = dense()
    data = split(mx, hide="layer")
    spy = Spy().fit(data.train.with_metadata(corner=[{"full": mx}]))
    assert any(np.shares_memory(array, mx.edge_index) for array in spy.arrays)


@pytest.mark.skipif(not os.environ.get("BANDITPLEX_DATA"), reason="BANDITPLEX_DATA is not set")
def test_gatnes_own_files_leak():
    """A fifth of Amazon's test edges have their reverse in train.txt, counted line by line."""
    folder = fetch("gatne-amazon")
    train = {tuple(line.split()) for line in (folder / "train.txt").read_text().splitlines()}
    test = [tuple(line.split()) for line in (folder / "test.txt").read_text().splitlines()]
    edges = [(layer, u, v) for layer, u, v, label in test if label == "1"]
    assert sum((layer, v, u) in train for layer, u, v in edges) == 2991
    assert len(edges) == 14746
    kept, clean = (fixed_split(folder, leaks=leaks) for leaks in ("keep", "drop"))
    assert (len(kept.test.label), kept.test.label.sum()) == (len(test), len(edges))
    with refuses("training", "layer 1"):
        kept.test.check()
    visible = {(layer, *sorted((u, v))) for layer, u, v in train}
    expected = {(layer, *sorted((u, v))) for layer, u, v, _ in test} - visible
    assert len(clean.test.label) == len(expected)
    full = load_dataset("gatne-amazon")
    clean.test.check(full=full)
    clean.valid.check(full=full)


def with_dense_layers():
    """Six nodes, 15 pairs: layer a lacks (0, 5), (1, 5) and (2, 5), layer b has every pair, and c is a path."""
    every = list(itertools.combinations(range(6), 2))
    near = [pair for pair in every if pair[1] < 5 or pair[0] > 2]
    edges = [*((*pair, "a") for pair in near), *((*pair, "b") for pair in every), *((i, i + 1, "c") for i in range(5))]
    return Multiplex.from_edges(*zip(*edges, strict=True), num_nodes=6)


def test_a_dense_layer_has_all_its_negatives_and_a_full_one_is_not_tested():
    mx = with_dense_layers()
    with pytest.warns(
        UserWarning, match=r"2 of 3 layers .*: 'a' \(3\), 'b' \(0\)\. .*;.* \(1\) are not tested"
    ) as told:
        data = split(mx, hide="layer", share=0.4, each=4)
    assert len(told) == 1
    data.check(full=mx)
    pairs, label = data.test("a")  # 5 of 12 edges, beside the 3 pairs that are none
    assert label.tolist() == [1] * 5 + [0] * 3
    assert {tuple(pair) for pair in pairs[5:].tolist()} == {(0, 5), (1, 5), (2, 5)}
    assert len(data.test("b")[0]) == 0
    assert data.train.layer_sizes.tolist() == [7, 9, 3]
    positives, negatives = data.ranking("a")
    assert negatives.shape == (5, 3, 2)
    assert data.ranking("c")[1].shape == (2, 4, 2)
    assert all({tuple(pair) for pair in row} == {(0, 5), (1, 5), (2, 5)} for row in negatives.tolist())
    assert data.negatives[data.layer[data.label == 1] == 0][:, 3:].tolist() == [[[-1, -1]]] * len(positives)


def test_folds_tell_of_dense_layers_once():
    with pytest.warns(UserWarning, match=r"'b' \(0\)") as told:
        folds = list(k_fold(with_dense_layers(), hide="layer", folds=5))
    assert len(told) == 1
    assert [len(fold.test("b")[0]) for fold in folds] == [0] * 5


def test_where_every_pair_is_linked_nothing_can_be_tested():
    for hide, told in (("layer", "not tested"), ("pair", "held-out pairs")):
        with pytest.warns(UserWarning, match=told), refuses("without an edge in their layer", "none"):
            split(with_dense_layers().subset(layers=["b"]), hide=hide)


def lay_out_triples(folder, **parts):
    for name, triples in parts.items():
        (folder / f"{name}.txt").write_text("".join("\t".join(each) + "\n" for each in triples))
    return folder


def test_a_fixed_split_of_triples_has_negatives_beside_its_edges(tmp_path):
    """Of the 6 ordered pairs of nodes a, b, c, layer r has 5: only (c, b) is left; layer s has (a, b) and (b, c)."""
    train = [("a", "r", "b"), ("b", "r", "a"), ("a", "s", "b")]
    parts = {"valid": [("a", "r", "c")], "test": [("c", "r", "a"), ("b", "r", "c"), ("b", "s", "c"), ("c", "s", "c")]}
    data = fixed_split(lay_out_triples(tmp_path, train=train, **parts))
    assert data.of_triples
    data.test.check()
    names, found = data.test.train.node_names, {}
    for part in data:
        for name in "rs":
            pairs, label = part.test(name)
            words = ["".join(names[pair]) for pair in pairs]
            found[part is data.test, name] = list(zip(words, label.tolist(), strict=True))
    assert found[True, "r"] == [("ca", 1), ("bc", 1), ("cb", 0)]
    assert found[False, "r"] == [("ac", 1), ("cb", 0)]
    assert found[True, "s"][0] == ("bc", 1)
    assert found[True, "s"][1][0] in ("ba", "ca", "ac", "cb")
    assert {"".join(names[pair]) for pair in data.known_edges(0)} == {"ab", "ba", "ac", "ca", "bc"}
    leaking = fixed_split(lay_out_triples(tmp_path, test=[("b", "r", "c"), ("a", "r", "b")]), leaks="drop")
    assert leaking.test.pairs[leaking.test.label == 1].tolist() == [[1, 2]]
    with refuses("leakage", "got 1"):
        fixed_split(tmp_path)


def complete(num_layers=3, nodes=8):
    """Return layers that divide all pairs of nodes among them: each pair is linked in one."""
    pairs = np.array(list(itertools.combinations(range(nodes), 2)))
    layer = np.arange(len(pairs)) % num_layers
    return Multiplex.from_edges(*pairs.T, layer, num_nodes=nodes, layer_names=range(num_layers))


def test_where_all_pairs_are_linked_negatives_are_other_held_out_pairs():
    """28 pairs, of which 6 are held out; a pair is linked in one layer, so it is a negative of the two others."""
    mx = complete()
    with pytest.warns(UserWarning, match="negatives of a layer are held-out pairs"):
        data = split(mx, hide="pair", seed=1)
    left = everywhere(mx) - everywhere(data.train)
    assert len(left) == 6
    for name, (positive, negative) in held_out(data).items():
        own, others = ({frozenset(pair) for pair in some} for some in (positive, negative))
        assert own == left & linked(mx)[name]
        assert others <= left - own
        assert len(others) == min(len(own), len(left - own))
    data.check()
    data.check(full=mx)


def mostly_one(nodes=8):
    """Return three layers that divide all pairs of nodes among them: "a" has all but ten, "b" eight and "c" two."""
    pairs = list(itertools.combinations(range(nodes), 2))
    return Multiplex.from_edges(*zip(*pairs, strict=True), [*"cbcbbbbbbb", *"a" * (len(pairs) - 10)], num_nodes=nodes)


def test_a_note_names_layers_of_a_dense_multiplex_with_few_negatives():
    """Every pair is linked in one layer, so a negative of a layer is a held-out pair of another."""
    mx, named = mostly_one(), re.compile(r"'(\w+)' \((\d+)\)")

    def few(*splits):
        """Return the layers that have fewer negatives than test edges in some split, with the fewest there."""
        found = {}
        for data in splits:
            left = everywhere(mx) - everywhere(data.train)
            for name, edges in linked(mx).items():
                need, free = len(edges & left), len(left - edges)
                if need > free:
                    found[name] = min(free, found.get(name, free))
        return found

    seen = set()
    for seed in range(4):
        with pytest.warns(UserWarning, match="Nearly all") as told:
            data = split(mx, hide="pair", seed=seed)
        assert {name: int(count) for name, count in named.findall(str(told[0].message))} == few(data)
        assert ("not tested" in str(told[0].message)) == (0 in few(data).values())
        seen |= set(few(data).values())
    assert len(seen) > 1
    with pytest.warns(UserWarning, match="Nearly all") as told:
        folds = list(k_fold(mx, hide="pair", folds=4))
    assert len(told) == 1
    assert {name: int(count) for name, count in named.findall(str(told[0].message))} == few(*folds)


def test_a_note_counts_the_layers_that_it_does_not_name():
    """Seven layers have every pair of five nodes, and so no negatives; the last is a path."""
    edges = [(*pair, name) for name in "abcdefg" for pair in itertools.combinations(range(5), 2)]
    edges += [(node, node + 1, "h") for node in range(4)]
    with pytest.warns(UserWarning, match=r"7 of 8 layers .* 'e' \(0\) and 2 more\. .* \(7\) are not tested"):
        split(Multiplex.from_edges(*zip(*edges, strict=True), num_nodes=5), hide="layer")


def test_a_negative_of_a_dense_multiplex_that_training_shows_is_refused():
    with pytest.warns(UserWarning, match="held-out pairs"):
        data = split(complete(), hide="pair", seed=1)
    at = int(np.flatnonzero(data.label == 0)[0])
    seen = data.train.edges(int((data.layer[at] + 1) % 3))[:, 0]
    shown = replace(data, pairs=np.where(np.arange(len(data.label))[:, None] == at, seen, data.pairs))
    with refuses("not in the training graph"):
        shown.check()


def test_tables_are_to_be_read_before():
    with refuses("Multiplex", "DataFrame", "banditplex.read"):
        split(pd.DataFrame({"source": [0], "destination": [1]}), hide="layer")
