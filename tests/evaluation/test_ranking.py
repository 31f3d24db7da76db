"""Filtered ranking agrees with counts by hand, with a plain loop, and with PyKEEN."""

import numpy as np
import pytest

from banditplex import LinkPredictor, Multiplex
from banditplex.evaluation import FixedSplit, Split, filtered_ranking, metrics
from tests.refusals import refuses


class Table:
    """Scores are those of a table (layers, n, n)."""

    def __init__(self, score, names):
        self.score, self.names, self.asked = score, {name: place for place, name in enumerate(names)}, []

    def fit(self, mx, targets=None, on_epoch=None):
        return self

    def score_pairs(self, pairs, layer):
        self.asked.append(len(pairs))
        source, destination = np.array([[self.names[end] for end in pair] for pair in pairs]).T
        assert (source != destination).all()
        return self.score[layer][source, destination]


def parts(train, valid, test, names, *, directed=True, layers=("r",)):
    """Return a split; edges are triples (layer index, source, destination)."""
    layer, source, destination = np.array(train).T
    mx = Multiplex.from_indices(
        source, destination, layer, node_names=list(names), layer_names=list(layers), directed=directed
    )
    return FixedSplit(*(
        Split(mx, "edge", np.array(each)[:, 0], np.array(each)[:, 1:], np.ones(len(each), np.int64))
        for each in (valid, test)
    ))  # fmt: skip


def test_ranks_by_hand():
    """Nodes a to e; training edge ab, validation edge ac, test edges ad and ea.

    Destination of ad: candidates b, c (known) and a (itself) are left out; e has the same score as d: rank 1.5.
    Source of ad: no other edge ends in d; b has more, c the same, e less: 1 + 1 + 1/2 = 2.5.
    Destination of ea: nothing else starts in e; b, c, d have less: 1.
    Source of ea: no other edge ends in a; b, c and d have more: 4.
    """
    score = np.zeros((5, 5))
    score[0] = [9, 8, 7, 2, 2]
    score[[1, 2, 4], 3] = [3, 2, 1]
    score[4, [0, 1, 2]] = [5, 4, 4]
    score[[1, 2, 3], 0] = [6, 7, 8]
    data = parts([(0, 0, 1)], [(0, 0, 2)], [(0, 0, 3), (0, 4, 0)], "abcde")
    found = filtered_ranking(Table({"r": score}, "abcde"), data)
    ranks = [1.5, 2.5, 1, 4]
    assert found.pooled["mrr"] == pytest.approx(sum(1 / rank for rank in ranks) / 4)
    assert [found.pooled[f"hits_at_{cut}"] for cut in (1, 3, 10)] == [0.25, 0.75, 1]
    assert found.layers == {"r": found.pooled}
    # of the validation edge ac, the destination is ranked beside e alone, and the source beside nodes with score 0 or 4
    valid = filtered_ranking(Table({"r": score}, "abcde"), data, part="valid")
    assert valid.pooled["mrr"] == 1
    with refuses("part", "valid, test", "'train'"):
        filtered_ranking(Table({"r": score}, "abcde"), data, part="train")


def random_data(*, directed=True, seed=0):
    """Twelve nodes, two layers, 40 edges of each: 26, 7 and 7 for training, validation and test; scores with ties."""
    rng = np.random.default_rng(seed)
    triples = []
    for layer in (0, 1):
        ends = [(u, v) for u in range(12) for v in range(12) if (u != v if directed else u < v)]
        triples += [[(layer, *ends[at]) for at in rng.permutation(len(ends))[:40]]]
    train, valid, test = (
        [each for some in triples for each in some[low:high]] for low, high in ((0, 26), (26, 33), (33, 40))
    )
    score = rng.integers(0, 6, (2, 12, 12)).astype(float)
    score = score if directed else score + score.transpose(0, 2, 1)
    return parts(train, valid, test, range(12), directed=directed, layers=(0, 1)), (train, valid, test), score


def plain_ranks(triples, known, score, num_nodes):
    """Rank both ends of each triple in a loop over all nodes."""
    ranks = []
    for layer, source, destination in triples:
        for side in (0, 1):
            own, above, tied = score[layer, source, destination], 0, 0
            for node in range(num_nodes):
                pair = (source, node) if side == 0 else (node, destination)
                if pair == (source, destination) or pair[0] == pair[1] or (layer, *pair) in known:
                    continue
                above += score[layer][pair] > own
                tied += score[layer][pair] == own
            ranks.append(1 + above + tied / 2)
    return ranks


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("chunk", [1, 30, 1 << 19])
def test_ranks_agree_with_a_plain_loop_in_chunks_of_any_size(monkeypatch, chunk, directed):
    monkeypatch.setattr(metrics, "SCORED_AT_ONCE", chunk)
    data, (train, valid, test), score = random_data(directed=directed)
    known = {*train, *valid, *test}
    known |= set() if directed else {(layer, v, u) for layer, u, v in known}
    scorer = Table(score, range(12))
    found = filtered_ranking(scorer, data)
    assert max(scorer.asked) <= max(chunk, 12)
    for layer in (0, 1):
        expected = plain_ranks([each for each in test if each[0] == layer], known, score, 12)
        assert found.layers[layer]["mrr"] == pytest.approx(np.mean(1 / np.array(expected)))
        assert found.layers[layer]["hits_at_3"] == pytest.approx(np.mean(np.array(expected) <= 3))
    expected = plain_ranks(test, known, score, 12)
    assert found.pooled["mrr"] == pytest.approx(np.mean(1 / np.array(expected)))
    assert found.mean["mrr"] == pytest.approx(np.mean([found.layers[layer]["mrr"] for layer in (0, 1)]))
    assert filtered_ranking(scorer, data, targets=[1]).pooled == found.layers[1]


def test_scores_that_are_no_numbers_are_refused():
    data, _, score = random_data()
    score[1, 3] = np.nan
    with refuses("finite", "nan", "layer 1"):
        filtered_ranking(Table(score, range(12)), data)


def test_evaluate_fits_to_the_training_part_and_reports_filtered_ranks():
    import banditplex as bx

    data, (train, valid, test), score = random_data()
    seen = []

    class Watched(Table):
        def fit(self, mx, targets=None, on_epoch=None):
            seen.append(
                {
                    (layer, *pair)
                    for layer, pair in zip(mx.edge_layer.tolist(), map(tuple, mx.edge_index.T.tolist()), strict=True)
                }
            )
            return self

    pairs = np.array([(layer, u, v) for layer in (0, 1) for u in range(12) for v in range(12) if u != v])
    free = np.array([each for each in pairs.tolist() if tuple(each) not in {*train, *valid, *test}])[::9]
    both = Split(
        data.test.train, "edge", np.append(data.test.layer, free[:, 0]), np.concatenate([data.test.pairs, free[:, 1:]]),
        np.append(data.test.label, np.zeros(len(free), np.int64)),
    )  # fmt: skip
    given = {"table": Watched(score, range(12))}
    rows = list(bx.evaluate(given, FixedSplit(data.valid, both), hide="edge", trials=1, engine="serial"))
    assert seen == [set(train)]
    known = {*train, *valid, *test}
    expected = {layer: plain_ranks([each for each in test if each[0] == layer], known, score, 12) for layer in (0, 1)}
    assert [(row["scope"], row["layer"]) for row in rows] == [
        ("layer", 0),
        ("layer", 1),
        ("pooled", None),
        ("mean", None),
    ]
    for row, ranks in zip(
        rows, [expected[0], expected[1], expected[0] + expected[1], expected[0] + expected[1]], strict=True
    ):
        assert row["filtered_mrr"] == pytest.approx(np.mean(1 / np.array(ranks)))
        assert row["filtered_hits_at_10"] == pytest.approx(np.mean(np.array(ranks) <= 10))
    with refuses("after", 3):
        bx.evaluate(given, FixedSplit(data.valid, both), hide="edge", after=3)


def test_a_fitted_predictor_is_ranked_as_its_scores_say():
    data, (train, valid, test), _ = random_data(seed=1)
    model = LinkPredictor(epochs=2, width=4, hide="edge").fit(data.test.train)
    score = np.zeros((2, 12, 12))
    every = np.array([(u, v) for u in range(12) for v in range(12) if u != v])
    for layer in (0, 1):
        score[layer][tuple(every.T)] = model.score_pairs(every, layer)
    expected = plain_ranks(test, {*train, *valid, *test}, score, 12)
    assert filtered_ranking(model, data).pooled["mrr"] == pytest.approx(np.mean(1 / np.array(expected)))


def test_ranks_agree_with_those_of_pykeen():
    """PyKEEN also ranks a node beside itself: with the lowest score, it counts for nothing."""
    pytest.importorskip("pykeen", reason="pykeen is not installed")
    import torch
    from pykeen.evaluation import RankBasedEvaluator

    data, (train, valid, test), score = random_data(seed=2)
    score[:, np.arange(12), np.arange(12)] = -1
    known = np.array([*train, *valid, *test])
    evaluator = RankBasedEvaluator(filtered=True)
    for end in (2, 1):
        for layer, source, destination in test:
            row = torch.tensor(score[layer, source] if end == 2 else score[layer, :, destination])[None].clone()
            kept = known[(known[:, 0] == layer) & (known[:, 3 - end] == (source if end == 2 else destination))][:, end]
            own = destination if end == 2 else source
            row[0, [node for node in kept if node != own]] = float("nan")
            evaluator.process_scores_(
                hrt_batch=torch.tensor([[source, layer, destination]]), target="tail" if end == 2 else "head",
                scores=row, true_scores=row[:, [own]],
            )  # fmt: skip
    result, found = evaluator.finalize(), filtered_ranking(Table(score, range(12)), data).pooled
    assert found["mrr"] == pytest.approx(result.get_metric("both.realistic.inverse_harmonic_mean_rank"))
    for cut in (1, 3, 10):
        assert found[f"hits_at_{cut}"] == pytest.approx(result.get_metric(f"both.realistic.hits_at_{cut}"))
