"""The estimator: manners, bad input, files, directions, new nodes."""

import math
import pickle
import re
from dataclasses import replace
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import banditplex as bx
from banditplex.datasets import planted
from banditplex.evaluation import brier, roc_auc, split
from banditplex.nn.relevance import RELEVANCES
from banditplex.pairs.visibility import HIDE
from banditplex.predictor import as_html
from banditplex.scorer import LinkScorer
from banditplex.training.config import EVIDENCE
from tests.quick import every, only
from tests.refusals import refuses

FAST = {"epochs": 3, "warmup": 1, "width": 4, "k": 1, "device": "cpu"}


def small(seed=0, **options):
    return planted(4, 2, 0.9, num_nodes=40, edges_per_layer=90, communities=4, seed=seed, **options)


@pytest.fixture(scope="module")
def fitted():
    mx = small()
    return mx, bx.LinkPredictor(**FAST | {"k": "auto"}).fit(mx)


def unrelated_layers(seed, num_layers=3, features=False):
    """Layers of 60 nodes that have nothing to do with each other, nor with anything."""
    rng = np.random.default_rng(seed)
    upper = np.array(np.triu_indices(60, 1))
    layers = [upper[:, rng.random(upper.shape[1]) < 0.1] for _ in range(num_layers)]
    name = np.repeat(list("abcdefg")[:num_layers], [layer.shape[1] for layer in layers])
    ends = np.concatenate(layers, axis=1)
    return bx.Multiplex.from_edges(*ends, name, num_nodes=60, node_features=np.ones((60, 1)) if features else None)


def some_pairs(mx, size=30, seed=0):
    pairs = np.random.default_rng(seed).integers(0, mx.num_nodes, (size, 2))
    return pairs[pairs[:, 0] != pairs[:, 1]]


def test_the_relevant_layer_is_found_and_prediction_is_good():
    mx = planted(6, 2, 0.9, num_nodes=80, edges_per_layer=300, communities=4, seed=1)
    parts = split(mx, hide="layer", seed=0)
    parts.check()
    model = bx.LinkPredictor(epochs=15, width=0).fit(parts.train, targets=["g1-base", "g2-copy1"])
    table = model.layer_probabilities_
    assert table.loc["g1-base", "g1-copy1"] > 0.8
    assert table.loc["g2-copy1", "g2-base"] > 0.8
    pairs, label = parts.test("g1-base")
    assert roc_auc(label, model.score_pairs(pairs, "g1-base")) > 0.8  # chance to see the edge in the copy: 0.9 * 0.8
    probability = model.predict_proba(pairs, "g1-base", prior=0.5)
    assert brier(label, probability) < 0.15


def test_probabilities_follow_calibration_and_prior(fitted):
    mx, model = fitted
    layer, pairs = mx.layer_names[1], some_pairs(mx)
    ratio = model._fitted.calibration.ratio(model.score_pairs(pairs, layer), 1)
    rare = [0.001 * math.exp(each) for each in ratio]
    assert max(rare) < 0.4
    assert model.predict_proba(pairs, layer, prior=0.001) == pytest.approx(rare, rel=1e-3)
    with refuses("prior", 1):
        model.predict_proba(pairs, layer, prior=1)
    with refuses("prior", "half"):
        model.recommend(layer, prior="half")


def test_every_tenth_link_is_unknown_unless_a_prior_is_given(fitted):
    mx, model = fitted
    layer, pairs = mx.layer_names[2], some_pairs(mx)
    known, possible = mx.edges(layer).shape[1], 40 * 39 / 2
    prior = known / 9 / (possible - known)
    assert model.density(layer) == pytest.approx(known / possible)
    assert model.default_prior(layer) == pytest.approx(prior)
    assert model.predict_proba(pairs, layer) == pytest.approx(model.predict_proba(pairs, layer, prior=prior))
    found = model.recommend(layer, top=3)
    assert found.attrs["prior"] == pytest.approx(prior)
    assert found["probability"].tolist() == pytest.approx(
        model.recommend(layer, top=3, prior=prior)["probability"].tolist()
    )
    assert model.recommend(layer, top=3, prior=0.25).attrs["prior"] == 0.25


def test_the_density_is_that_of_the_context_and_never_0_or_1(fitted):
    mx, model = fitted
    layer = mx.layer_names[0]
    few = mx.keep_edges(mx.edge_layer != 0)
    assert model.density(layer, context=few) == pytest.approx(0.5 / (40 * 39 / 2))
    assert np.isfinite(model.predict_proba([[0, 1]], layer, context=few)).all()
    upper = np.array(np.triu_indices(40, 1))
    full = bx.Multiplex.from_edges(*upper, layer, num_nodes=40, layer_names=mx.layer_names)
    assert model.density(layer, context=full) == pytest.approx(1 - 0.5 / (40 * 39 / 2))
    assert model.default_prior(layer, context=full) == 0.5


def test_directed_pairs_are_counted_in_both_directions():
    mx = small().to_directed()
    model = bx.LinkPredictor(**FAST).fit(mx)
    assert model.density(mx.layer_names[0]) == pytest.approx(mx.layer_sizes[0] / (40 * 39))


def test_probabilities_rank_pairs_as_scores_do(fitted):
    mx, model = fitted
    layer, pairs = mx.layer_names[1], some_pairs(mx, 300)
    scores = model.score_pairs(pairs, layer)
    for prior in (None, 0.5):
        probability = model.predict_proba(pairs, layer, prior=prior)
        order = np.argsort(scores)
        assert (np.diff(probability[order]) >= 0).all()
        assert ((probability > 0) & (probability < 1)).all()


def test_recommend_ranks_all_pairs_that_are_no_edges(fitted, monkeypatch):
    mx, model = fitted
    layer = mx.layer_names[0]
    pairs = np.array([(u, v) for u in range(40) for v in range(u + 1, 40)])
    pairs = pairs[~mx.has_edges(pairs, layer)]
    probability = model.predict_proba(pairs, layer)
    monkeypatch.setattr("banditplex.answers.ranking.RANKED_AT_ONCE", 100)
    table = model.recommend(layer, top=7)
    assert table["probability"].to_numpy() == pytest.approx(np.sort(probability)[::-1][:7], rel=1e-4)
    assert not mx.has_edges(table[["source", "destination"]].to_numpy(), layer).any()
    few = model.recommend(layer, candidates=mx.edges(layer).T[:3].tolist() + pairs[:2].tolist())
    assert {(a, b) for a, b in few[["source", "destination"]].to_numpy().tolist()} == {tuple(p) for p in pairs[:2]}
    assert len(model.recommend(layer, candidates=[*pairs[:2], pairs[0], pairs[1][::-1]])) == 2


def test_manners_of_an_estimator(fitted):
    mx, model = fitted
    assert isinstance(model, LinkScorer)
    copy = clone(model.set_params(k=1))
    assert copy.get_params() == model.get_params()
    with refuses("LinkPredictor", "fit"):
        copy.score_pairs([[0, 1]], mx.layer_names[0])
    assert model.layer_probabilities_.to_numpy().sum(axis=1) == pytest.approx(np.ones(4))
    assert set(model.history_["epoch"]) == {1, 2, 3}
    assert {"train_loss", "train_accuracy", "drawn", "layer_loss", "inclusion", "regret"} <= set(model.history_)


def test_numbers_of_numpy_are_settings_too():
    plain = {"k": 2, "epochs": 1, "learning_rate": 0.5, "validation": 0.25, "seed": 3}
    numpy = {"k": np.int64(2), "epochs": np.int8(1), "learning_rate": np.float32(0.5), "validation": np.float16(0.25)}
    models = [bx.LinkPredictor(width=0, **each).fit(small()) for each in (plain, {**numpy, "seed": np.uint32(3)})]
    pairs = some_pairs(small())
    assert np.array_equal(*(model.score_pairs(pairs, "g1-base") for model in models))
    with refuses("k", 1, 3, 4):
        bx.LinkPredictor(k=np.int64(4)).fit(small())


def test_on_epoch_sees_a_model_that_predicts_and_can_end_training():
    mx, seen = small(), []

    def watch(model, row):
        seen.append((row["epoch"], model.score_pairs([[0, 1]], mx.layer_names[0])[0], len(row["layers"])))
        return row["epoch"] == 2

    bx.LinkPredictor(**{**FAST, "epochs": 5}).fit(mx, on_epoch=watch)
    assert [epoch for epoch, *_ in seen] == [1, 2]
    assert seen[0][1] != seen[1][1]


def test_training_is_told_and_logged(capsys, caplog):
    """Without a terminal, a line per tenth of search and epochs, and one after the last; 40 epochs have 10 lines.

    Of one target, the search has two steps.
    """
    mx, seen = small(), []
    settings = {"epochs": 40, "patience": 40, "width": 0, "batch_size": 512, "members": 1}
    with caplog.at_level("INFO", logger="banditplex"):
        model = bx.LinkPredictor(**settings, verbose=True).fit(mx, ["g1-base"], lambda *_: seen.append(1))
    lines = capsys.readouterr().err.splitlines()
    losses = model.history_[["train_loss", "validation_loss"]].to_numpy()
    assert lines == ["banditplex: finding layers that help: 50 % done"] + [
        f"banditplex: epoch {i} of at most 40: loss {losses[i - 1, 0]:.3f}  validation {losses[i - 1, 1]:.3f}"
        for i in range(4, 41, 4)
    ] + ["banditplex: epoch 40 was the last; finishing the model"]
    assert len(seen) == 40
    assert [record.name for record in caplog.records] == ["banditplex"] * 41
    assert caplog.messages[0] == "Training on Multiplex(40 nodes, 4 layers, 360 edges, undirected); 1 target layers."
    assert caplog.messages[1] == f"Epoch 1: loss {losses[0, 0]:.4f}, validation {losses[0, 1]:.4f}"
    bx.LinkPredictor(**FAST).fit(mx, ["g1-base"])
    assert capsys.readouterr().err == ""


def test_directed_multiplexes_predict_directed_links():
    rng = np.random.default_rng(0)
    rank = rng.permutation(40)
    pairs = rng.integers(0, 40, (700, 2))
    pairs = pairs[rank[pairs[:, 0]] < rank[pairs[:, 1]]]  # arcs go up only
    mx = bx.Multiplex.from_edges(*pairs.T, rng.integers(0, 2, len(pairs)), num_nodes=40, directed=True)
    model = bx.LinkPredictor(epochs=20, width=0).fit(mx)
    edges = mx.edges(0).T
    assert (
        roc_auc([1] * len(edges) + [0] * len(edges), model.score_pairs(np.concatenate([edges, edges[:, ::-1]]), 0))
        > 0.9
    )
    assert len(model.recommend(0, top=5)) == 5


@pytest.mark.parametrize("policy", every(2, ["uniform", "exp3+", "all", "none", "epsilon-greedy"]))
def test_policies_by_name(policy):
    mx = small()
    model = bx.LinkPredictor(**{**FAST, "epochs": 1, "policy": policy}).fit(mx)
    total = {"all": 3, "none": 0}.get(policy, 1)
    assert model.layer_probabilities_.to_numpy().sum(axis=1) == pytest.approx(np.full(4, total))
    assert model.score_pairs([[0, 1]], mx.layer_names[0], draws=3).shape == (1,)


def test_a_callable_relevance_receives_what_was_seen():
    groups = []

    def mine(batch):
        assert batch.own.shape == batch.other.shape == batch.label.shape == batch.pair_group.shape
        assert batch.target_embedding.shape == batch.layer_embedding.shape == (len(batch.node_group), 4)
        groups.append(batch.num_groups)
        return torch.ones(batch.num_groups)

    bx.LinkPredictor(**{**FAST, "epochs": 1, "k": 2, "relevance": mine}).fit(small())
    assert set(groups) == {4 * 2}


def test_a_multiplex_of_one_layer_works_without_sampling(tmp_path):
    mx = small().subset(layers=["g1-base"])
    model = bx.LinkPredictor(**FAST).fit(mx)
    assert model.layer_probabilities_.to_numpy().tolist() == [[0.0]]
    model.save(tmp_path)
    assert bx.LinkPredictor.load(tmp_path).score_pairs([[0, 1]], "g1-base").shape == (1,)


def test_what_cannot_be_trained_is_refused():
    mx = small()
    thin = bx.Multiplex.from_edges(
        [0, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 6, 2], ["a"] * 6 + ["b"], num_nodes=7, layer_names=["a", "b", "empty"]
    )
    for values, settings, arguments in (
        (["layer", "'nowhere'"], {}, {"targets": ["nowhere"]}),
        (["edge", "'empty'"], {}, {"mx": thin, "targets": ["empty"]}),
        (["edge"], {}, {"mx": thin.subset(layers=["empty"])}),
        (["k", 1, 3, 4], {"k": 4}, {}),
        (["k", -1], {"k": -1}, {}),
        (["policy", "'hintd'", "'hinted'"], {"policy": "hintd"}, {}),
        (["relevance", "'nearness'", *RELEVANCES], {"relevance": "nearness"}, {}),
        (["width", 1, "'cosine'"], {"relevance": "cosine", "width": 0}, {}),
        (["target", ["g1-base", "g1-base"]], {}, {"targets": ["g1-base", "g1-base"]}),
        (["targets", "'g1-base'"], {}, {"targets": "g1-base"}),
        (["targets", 5], {}, {"targets": 5}),
        (["file or folder", "got object"], {}, {"mx": object()}),
        (["policy", 3], {"policy": 3}, {}),
        (["relevance", None], {"relevance": None}, {}),
        (["checkpoint="], {}, {"resume": True}),
        (["device", "'abacus'"], {"device": "abacus"}, {}),
        (["validation", 1], {"validation": 1}, {}),
    ):
        with refuses(*values):
            bx.LinkPredictor(**settings).fit(**{"mx": mx, **arguments})
    with pytest.warns(UserWarning, match="not used as targets: 'empty'"):
        model = bx.LinkPredictor(epochs=1, width=0).fit(thin)
    with refuses("('a', 'b')", "'empty'"):
        model.score_pairs([[0, 1]], "empty")


def sizes(directed):
    """Return layers with 0, 1, 2, 4, 60, 60 and 0 edges among 20 nodes."""
    count = {"zero": 0, "one": 1, "two": 2, "four": 4, "big": 60, "wide": 60, "last": 0}
    rng = np.random.default_rng(3)
    pair = np.concatenate([rng.permutation(380)[:size] for size in count.values()])
    source, destination = np.divmod(pair, 19)
    destination += destination >= source
    layer = np.repeat(list(count), list(count.values()))
    return bx.Multiplex.from_edges(
        source, destination, layer, num_nodes=20, layer_names=list(count), directed=directed
    )  # fmt: skip


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("hide", "directed"), only([("layer", False)], list(product(HIDE, [False, True]))))
def test_layers_of_any_size_are_targets(hide, directed, tmp_path):
    """Layers of few edges keep them for training, and named empty layers are predicted, too."""
    mx = sizes(directed)
    settings = {"epochs": 2, "width": 4, "hide": hide}
    with pytest.warns(UserWarning, match="not used as targets: 'zero', 'last'"):
        every = bx.LinkPredictor(**settings | {"relevance": "cosine", "policy": "exp3+"}).fit(mx)
    assert list(every.layer_probabilities_.index) == ["one", "two", "four", "big", "wide"]
    targets = ["zero", "one", "two", "four", "big", "last"]
    with pytest.warns(UserWarning, match="nothing to learn from.*'zero', 'last'"):
        model = bx.LinkPredictor(**settings).fit(mx, targets)
    rows = model.history_[model.history_["epoch"] == 1].set_index("layer")
    assert list(rows.index) == targets
    assert rows["train_loss"].isna().tolist() == [True, False, False, False, False, True]
    assert rows["train_accuracy"].isna().tolist() == [True, False, False, False, False, True]
    assert rows["validation_loss"].isna().tolist() == [True, True, True, True, False, True]
    assert rows["drawn"].map(len).gt(0).tolist() == [False, True, True, True, True, False]
    model.save(tmp_path / "model")
    again = bx.LinkPredictor.load(tmp_path / "model")
    pairs = some_pairs(mx)
    with pytest.warns(UserWarning, match="nothing to learn from"), pytest.raises(KeyboardInterrupt):
        bx.LinkPredictor(**settings).fit(mx, targets, interrupt, checkpoint=tmp_path / "run")
    with pytest.warns(UserWarning, match="nothing to learn from"):
        resumed = bx.LinkPredictor(**settings).fit(mx, targets, checkpoint=tmp_path / "run", resume=True)
    for layer in targets:
        scores = model.score_pairs(pairs, layer)
        assert np.isfinite(scores).all()
        assert (again.score_pairs(pairs, layer) == scores).all()
        assert (resumed.score_pairs(pairs, layer) == scores).all()
        assert len(model.recommend(layer, top=3)) == 3


def interrupt(model, row):
    raise KeyboardInterrupt


def test_a_training_without_validation_edges_ends():
    mx = sizes(directed=False)
    model = bx.LinkPredictor(epochs=2, width=0).fit(mx, ["one", "two"])
    assert model.history_["validation_loss"].isna().all()
    assert len(model.history_) == 4


def shop(directed=False):
    """Return 12 users who buy 30 items and know each other; every user buys items of one of three shelves."""
    rng = np.random.default_rng(0)
    user = rng.integers(0, 12, 150)
    item = 12 + 10 * (user % 3) + rng.integers(0, 10, 150)
    knows = [(u, v) for u in range(12) for v in range(u) if u % 3 == v % 3]
    ends = np.concatenate([np.stack([user, item], 1), knows])
    layer = ["buys"] * 150 + ["knows"] * len(knows)
    types = ["user"] * 12 + ["item"] * 30
    return bx.Multiplex.from_edges(*ends.T, layer, num_nodes=42, node_types=types, directed=directed)


@pytest.mark.parametrize("directed", [False, True])
def test_links_are_predicted_between_the_types_that_a_layer_links(directed, tmp_path):
    mx = shop(directed)
    model = bx.LinkPredictor(epochs=2, width=4).fit(mx)
    for fitted in (model, saved_and_loaded(model, tmp_path / "model")):
        best = fitted.recommend("buys", top=1000)
        assert len(best) == 12 * 30 - len(mx.edges("buys").T)
        assert best["source"].lt(12).all()
        assert best["destination"].ge(12).all()
        assert fitted.recommend("knows", top=1000)[["source", "destination"]].lt(12).all(axis=None)
    asked = model.recommend("buys", candidates=[[0, 3], [0, 13]])
    assert len(asked) == 1 + (not mx.has_edges([[0, 13]], "buys")[0])  # what is asked for is answered


def saved_and_loaded(model, folder):
    model.save(folder)
    loaded = bx.LinkPredictor.load(folder)
    assert loaded.multiplex_ == model.multiplex_
    return loaded


def test_recommendations_in_a_context_link_the_types_of_training():
    mx = shop()
    model = bx.LinkPredictor(epochs=1, width=0).fit(mx)
    context = bx.Multiplex.from_edges(
        ["ann", "bob", "ann"], ["tea", "tea", "bob"], ["knows", "knows", "buys"],
        node_types={"ann": "user", "bob": "user", "tea": "item"}, layer_names=["buys", "knows"],
    )  # fmt: skip
    found = model.recommend("buys", context=context)[["source", "destination"]]
    assert sorted(map(sorted, found.to_numpy().tolist())) == [["ann", "tea"], ["bob", "tea"]]


def test_a_layer_that_is_complete_between_its_types_is_left_out():
    users, items = np.divmod(np.arange(40), 8)
    more = [[0, 1, 2, 0, 1], [5, 6, 7, 8, 9]]
    mx = bx.Multiplex.from_edges(
        np.append(users, more[0]), np.append(items + 5, more[1]), ["all"] * 40 + ["some"] * 5, num_nodes=13,
        node_types=["user"] * 5 + ["item"] * 8,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="without an edge are not used as targets: 'all'"):
        model = bx.LinkPredictor(epochs=1, width=0).fit(mx)
    assert list(model.layer_probabilities_.index) == ["some"]
    with refuses("complete"):  # every pair of a user and an item has an edge somewhere
        bx.LinkPredictor(epochs=1, width=0, hide="pair").fit(mx)


def test_evidence_of_all_layers_finds_what_each_layer_tells_in_part():
    """Links of the target are those of eight layers together: every one of them knows an eighth."""
    rng = np.random.default_rng(0)
    upper = np.array(np.triu_indices(60, 1))
    links = upper[:, rng.random(upper.shape[1]) < 0.3]
    layer = np.append(rng.integers(1, 9, links.shape[1]), np.zeros(links.shape[1], np.int64))
    mx = bx.Multiplex.from_edges(*np.tile(links, 2), layer, num_nodes=60)
    known, auc = mx.has_edges(upper.T, 0), {}
    for evidence in EVIDENCE:
        model = bx.LinkPredictor(epochs=12, evidence=evidence, k=1).fit(mx, targets=[0])
        auc[evidence] = roc_auc(known, model.score_pairs(upper.T, 0))
    assert auc["all"] > 0.99
    assert auc["drawn"] < 0.8


def test_a_complete_layer_does_not_stop_the_others():
    rng = np.random.default_rng(0)
    every = np.stack(np.triu_indices(20, 1), 1)
    some = every[rng.random(len(every)) < 0.3]
    names = np.repeat(["full", "a", "b"], [len(every), len(some), len(some)])
    mx = bx.Multiplex.from_edges(*np.concatenate([every, some, some]).T, names, num_nodes=20)
    with pytest.warns(UserWarning, match="'full'"):
        model = bx.LinkPredictor(epochs=1, width=0).fit(mx)
    assert list(model.layer_probabilities_.index) == ["a", "b"]
    with refuses("'full'"):
        bx.LinkPredictor(epochs=1, width=0).fit(mx, targets=["full"])
    with refuses("complete"):
        bx.LinkPredictor(epochs=1, width=0).fit(mx.subset(layers=["full"]))


def test_pairs_can_be_hidden_where_all_are_linked_in_some_layer():
    """190 pairs, half of them in each of two layers: the negatives of one are the edges of the other."""
    every = np.stack(np.triu_indices(20, 1), 1)
    mx = bx.Multiplex.from_edges(*every.T, np.arange(190) % 2, num_nodes=20)
    with pytest.warns(UserWarning, match="negatives are pairs without an edge in their own layer"):
        model = bx.LinkPredictor(epochs=1, width=0, hide="pair").fit(mx)
    drawn = model._trainer.data.negatives.draw(np.zeros(200, np.int64), np.random.default_rng(0))
    assert not model._trainer.data.train_mx.has_edges(drawn, 0).any()
    assert mx.has_edges(drawn, 1).any()


def test_the_time_of_gains_is_that_between_asking_and_answer(monkeypatch, tmp_path):
    """On a clock that says 10 before they are computed and 13.5 after; asked for again, they are there."""
    clock = iter([10.0, 13.5])
    monkeypatch.setattr("banditplex.predictor.perf_counter", lambda: next(clock))
    model = bx.LinkPredictor(**FAST | {"width": 0}).fit(small(), ["g1-base"])
    assert model.gains_seconds_ is None
    for _ in range(2):
        assert len(model.layer_gains_)
        assert model.gains_seconds_ == 3.5
    model.save(tmp_path / "m")
    assert bx.LinkPredictor.load(tmp_path / "m").gains_seconds_ is None
    assert model.fit(small(), ["g1-base"]).gains_seconds_ is None


@pytest.mark.parametrize(
    "settings", only([{"members": 1, "width": 4}], [{"members": 1}, {"members": 2}, {"members": 1, "width": 4}])
)
def test_a_model_can_be_pickled_after_fit(settings, tmp_path):
    """As scikit-learn's users keep models: by pickle and joblib; it answers as before, and can learn on."""
    mx = small()
    model = bx.LinkPredictor(**FAST | {"width": 0} | settings).fit(mx, ["g1-base", "g2-base"])
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        pairs = some_pairs(mx)
        assert np.array_equal(again.score_pairs(pairs, "g1-base"), model.score_pairs(pairs, "g1-base"))
        pd.testing.assert_frame_equal(again.layer_gains_, model.layer_gains_)
        pd.testing.assert_frame_equal(again.history_, model.history_)
        assert again.get_params() == model.get_params()
    again.fit(mx, ["g1-base"])
    assert len(pickle.dumps(bx.LinkPredictor())) < 10_000


def test_a_model_that_is_not_fitted_says_so_in_the_words_of_scikit_learn():
    model = bx.LinkPredictor()
    with pytest.raises(NotFittedError, match="call fit first") as error:
        model.recommend("a")
    assert isinstance(error.value, bx.InputError)
    assert not hasattr(model, "layer_gains_")


def test_scikit_learn_is_told_how_to_split_a_multiplex():
    with refuses("cross_val_score", "mx.to_pandas()"):
        cross_val_score(bx.LinkPredictor(**FAST), small())
    assert np.array([small()] * 2, dtype=object).shape == (2,)


def test_a_notebook_shows_which_layers_help(fitted):
    model = fitted[1]
    told = model._repr_mimebundle_()
    assert told["text/plain"] == repr(model)
    cells = np.reshape(re.findall("<td>(.*)</td>", told["text/html"]), (-1, 5))
    helping = model.layer_gains_.query("helps").sort_values("gain", ascending=False)[:10]
    assert len(helping) > 1
    assert cells[:, :2].tolist() == helping[["target", "layer"]].to_numpy().tolist()
    assert cells[:, 2:].astype(float) == pytest.approx(helping[["gain", "low", "high"]].to_numpy(), abs=6e-4)
    assert "40 nodes" in told["text/html"]
    assert "LinkPredictor()" in bx.LinkPredictor()._repr_html_()


def test_names_in_a_notebook_stay_text():
    row = {"target": "<b>", "layer": "a", "gain": 0.1, "low": 0.05, "high": 0.2, "helps": True}
    html = as_html("<i>", pd.DataFrame([row] * 12))
    assert "<i>" not in html
    assert "&lt;b&gt;" in html
    assert "And 2 more" in html
    assert "No other layer helps" in as_html("mx", pd.DataFrame([row | {"helps": False}]))
    assert "model.layer_gains_" in as_html("mx", None)


def test_weights_that_are_not_used_are_said():
    """They are used by an encoder, and if `weighted` says so; where all are the same there is nothing to use."""
    mx = small()
    weighted = replace(mx, weight=np.arange(1.0, mx.num_edges + 1))
    targets, model = ["g1-base"], bx.LinkPredictor(**FAST | {"width": 0, "members": 1})
    with pytest.warns(UserWarning, match="Edge weights are not used; the setting weighted"):
        model.fit(weighted, targets)
    model.fit(replace(mx, weight=np.full(mx.num_edges, 2.0)), targets)
    bx.LinkPredictor(**FAST | {"members": 1}).fit(weighted, targets)
    model.set_params(weighted=True).fit(weighted, targets)
