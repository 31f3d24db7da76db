"""The estimator: manners, bad input, files, directions, new nodes."""

import json
import math
import os
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch_geometric.nn import GATConv

import banditplex as bx
from banditplex.datasets import planted
from banditplex.errors import InputError
from banditplex.evaluation import brier, roc_auc, split
from banditplex.scorer import LinkScorer

FAST = {"epochs": 3, "warmup": 1, "width": 4, "device": "cpu"}


def small(seed=0, **options):
    return planted(4, 2, 0.9, num_nodes=40, edges_per_layer=90, communities=4, seed=seed, **options)


@pytest.fixture(scope="module")
def fitted():
    mx = small()
    return mx, bx.LinkPredictor(**FAST).fit(mx)


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
    probability = model.predict_proba(pairs, "g1-base")
    assert brier(label, probability) < 0.15


def test_scores_do_not_depend_on_what_else_is_asked(fitted):
    mx, model = fitted
    layer = mx.layer_names[0]
    pairs = np.concatenate([some_pairs(mx), mx.edges(layer).T[:10]])
    together = model.score_pairs(pairs, layer)
    alone = np.concatenate([model.score_pairs(pairs[i : i + 1], layer) for i in range(len(pairs))])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(together, model.score_pairs(pairs[:, ::-1], layer), rtol=1e-4, atol=1e-5)


def test_probabilities_follow_temperature_and_prior(fitted):
    mx, model = fitted
    layer, pairs = mx.layer_names[1], some_pairs(mx)
    logits = model.score_pairs(pairs, layer) / model._fitted.temperature
    rare = [1 / (1 + math.exp(-(logit + math.log(0.01 / 0.99)))) for logit in logits]
    assert model.predict_proba(pairs, layer, prior=0.01) == pytest.approx(rare)
    with pytest.raises(InputError, match="prior between 0 and 1, got 1"):
        model.predict_proba(pairs, layer, prior=1)


def test_recommend_ranks_all_pairs_that_are_no_edges(fitted, monkeypatch):
    mx, model = fitted
    layer = mx.layer_names[0]
    pairs = np.array([(u, v) for u in range(40) for v in range(u + 1, 40)])
    pairs = pairs[~mx.has_edges(pairs, layer)]
    probability = model.predict_proba(pairs, layer)
    monkeypatch.setattr("banditplex.predictor.CHUNK", 100)
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
    with pytest.raises(InputError, match="call fit first"):
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
    with pytest.raises(InputError, match="k from 1 to 3"):
        bx.LinkPredictor(k=np.int64(4)).fit(small())


@pytest.mark.parametrize("conv", [partial(GATConv, heads=2, concat=False), type("GCNConv", (GATConv,), {})])
def test_a_convolution_of_your_own_is_needed_to_load(tmp_path, conv):
    mx = small()
    model = bx.LinkPredictor(**FAST, conv=conv).fit(mx, targets=["g1-base"])
    model.save(tmp_path)
    name = "partial" if isinstance(conv, partial) else "GCNConv"
    with pytest.raises(InputError, match=f"conv= with the '{name}' that this model was trained with"):
        bx.LinkPredictor.load(tmp_path)
    again = bx.LinkPredictor.load(tmp_path, conv=conv, device="cpu")
    assert np.array_equal(*(each.score_pairs(some_pairs(mx), "g1-base") for each in (model, again)))


def test_on_epoch_sees_a_model_that_predicts_and_can_end_training():
    mx, seen = small(), []

    def watch(model, row):
        seen.append((row["epoch"], model.score_pairs([[0, 1]], mx.layer_names[0])[0], len(row["layers"])))
        return row["epoch"] == 2

    bx.LinkPredictor(**{**FAST, "epochs": 5}).fit(mx, on_epoch=watch)
    assert [epoch for epoch, *_ in seen] == [1, 2]
    assert seen[0][1] != seen[1][1]


@pytest.mark.parametrize("conv", ["gcn", GATConv])
def test_a_saved_model_predicts_without_the_training_data(tmp_path, conv):
    mx = small()
    model = bx.LinkPredictor(**FAST, conv=conv, k=2).fit(mx, targets=list(mx.layer_names[:2]))
    model.save(tmp_path / "run")
    again = bx.LinkPredictor.load(tmp_path / "run", device="cpu")
    pairs, layer = some_pairs(mx), mx.layer_names[1]
    assert np.array_equal(model.score_pairs(pairs, layer), again.score_pairs(pairs, layer))
    assert np.array_equal(model.predict_proba(pairs, layer), again.predict_proba(pairs, layer))
    assert model.layer_probabilities_.equals(again.layer_probabilities_)
    assert model.history_["drawn"].tolist() == again.history_["drawn"].tolist()
    assert not list((tmp_path / "run").glob("*.new"))
    assert {path.suffix for path in (tmp_path / "run").iterdir()} == {".json", ".safetensors"}


def test_a_model_is_not_saved_where_a_file_stands(fitted, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="file: cannot be made: File exists"):
        fitted[1].save(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_settings_changed_after_a_fit_are_those_of_the_next(tmp_path):
    mx = small()
    model = bx.LinkPredictor(**FAST).fit(mx)
    model.set_params(width=8, policy="exp3+", k=2, seed=5).save(tmp_path)
    again = bx.LinkPredictor.load(tmp_path, device="cpu")
    assert {name: again.get_params()[name] for name in FAST} == FAST
    assert (again.policy, again.k, again.seed) == ("default", 1, 0)
    pairs, layer = some_pairs(mx), mx.layer_names[0]
    assert np.array_equal(model.score_pairs(pairs, layer), again.score_pairs(pairs, layer))


def test_broken_model_folders_are_refused(fitted, tmp_path):
    _, model = fitted
    with pytest.raises(InputError, match=r"expected a model's folder with a file model\.json, got"):
        bx.LinkPredictor.load(tmp_path / "none")
    model.save(tmp_path / "run")
    index = json.loads((tmp_path / "run/model.json").read_text())
    shutil.copytree(tmp_path / "run", tmp_path / "cut")
    (tmp_path / "cut/weights.safetensors").unlink()
    with pytest.raises(InputError, match="complete model folder"):
        bx.LinkPredictor.load(tmp_path / "cut")
    shutil.copytree(tmp_path / "run", tmp_path / "flipped")
    for name in ("graph", "policy", "weights"):
        file = tmp_path / f"flipped/{name}.safetensors"
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(InputError, match=f"{name}.safetensors: expected the file that model.json was written with"):
            bx.LinkPredictor.load(tmp_path / "flipped")
        file.write_bytes(whole)
    shutil.copytree(tmp_path / "run", tmp_path / "swapped")
    wider = {**index, "config": {**index["config"], "width": 8}}
    for wrong, what in (({"format": 1}, "KeyError: 'config'"), (wider, "RuntimeError: Error.* size mismatch")):
        (tmp_path / "swapped/model.json").write_text(json.dumps(wrong))
        with pytest.raises(InputError, match=f"swapped: expected a complete model folder, got {what}"):
            bx.LinkPredictor.load(tmp_path / "swapped")
    (tmp_path / "run/model.json").write_text(json.dumps({**index, "format": 99}))
    with pytest.raises(InputError, match=r"model\.json: expected a model folder of format 1, got format 99"):
        bx.LinkPredictor.load(tmp_path / "run")
    (tmp_path / "run/model.json").write_text("{")
    with pytest.raises(InputError, match="expected JSON"):
        bx.LinkPredictor.load(tmp_path / "run")


class Killed(BaseException):
    pass


def save_until(model, folder, step, monkeypatch):
    """Save a model, killed before writing to the disk for the step-th time; say whether all was done by then."""
    steps = iter(range(step))

    def dying(call):
        def do(*arguments):
            if next(steps, None) is None:
                raise Killed
            return call(*arguments)

        return do

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", dying(os.fsync))
        patch.setattr(os, "replace", dying(os.replace))
        try:
            model.save(folder)
        except Killed:
            return False
    return True


def test_a_save_that_is_cut_off_anywhere_leaves_the_old_model_or_the_new_one(tmp_path, monkeypatch):
    mx = small()
    models = [bx.LinkPredictor(**FAST | {"epochs": 1}, seed=seed).fit(mx) for seed in range(3)]
    pairs, layer = some_pairs(mx), mx.layer_names[0]
    scores = [model.score_pairs(pairs, layer) for model in models]

    def which(folder):
        found = bx.LinkPredictor.load(folder, device="cpu").score_pairs(pairs, layer)
        (number,) = (number for number, each in enumerate(scores) if np.array_equal(found, each))
        return number

    left = []
    for step in range(99):
        folder = tmp_path / str(step)
        models[0].save(folder)
        whole = save_until(models[1], folder, step, monkeypatch)
        left.append(which(folder))
        for further in (2, 6):  # cut off once more, while there is no new index and when there is one
            save_until(models[2], folder, further, monkeypatch)
            assert which(folder) in (left[-1], 2)
        models[2].save(folder)
        assert which(folder) == 2
        assert not list(folder.glob("*.new"))
        if whole:
            break
    assert left == sorted(left)
    assert set(left) == {0, 1}
    assert len(left) == 13  # a draft of each of three files; draft, place and folder of the index; places and folders


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


def test_new_nodes_with_features_are_scored_in_their_own_context():
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    features = np.eye(2)[group] + rng.normal(0, 0.1, (60, 2))
    upper = np.array(np.triu_indices(60, 1)).T
    linked = upper[(group[upper[:, 0]] == group[upper[:, 1]]) & (rng.random(len(upper)) < 0.3)]
    names = [f"n{i}" for i in range(60)]

    def make(nodes, known):
        keep = np.isin(linked, known).all(1)
        return bx.Multiplex.from_edges(
            [names[i] for i in linked[keep, 0]], [names[i] for i in linked[keep, 1]], "a",
            node_names=[names[i] for i in nodes], node_features=features[nodes],
        )  # fmt: skip

    model = bx.LinkPredictor(epochs=30).fit(make(np.arange(40), np.arange(40)))
    new = [(names[i], names[j]) for i in range(40, 60) for j in range(i + 1, 60)]
    label = [group[i] == group[j] for i in range(40, 60) for j in range(i + 1, 60)]
    for known in (60, 40):  # with the edges of new nodes, and with nothing but their features
        context = make(np.arange(60), np.arange(known))
        assert roc_auc(label, model.score_pairs(new, "a", context=context)) > 0.9
    with pytest.raises(InputError, match="2 node features, got 0"):
        model.score_pairs([("n1", "n2")], "a", context=bx.Multiplex.from_edges(["n1"], ["n2"], "a"))


def test_a_warm_start_goes_on_with_new_edges_and_new_nodes():
    mx = small()
    model = bx.LinkPredictor(**{**FAST, "warm_start": True}).fit(mx)
    rounds = model._fitted.policy.rounds
    grown = bx.Multiplex.from_edges(
        np.append(mx.edge_index[0], [0, 40]), np.append(mx.edge_index[1], [40, 41]),
        np.append(mx.edge_layer, [0, 0]), num_nodes=42, layer_names=range(4),
    )  # fmt: skip
    with pytest.raises(InputError, match="layers of the first fit"):
        model.fit(grown)
    with pytest.raises(InputError, match="directed=False, as in the first fit"):
        model.fit(replace(mx, directed=True))
    for other in ({"width": 8}, {"width": 0}, {"hidden": 3}):
        with pytest.raises(InputError, match="the settings of the first fit for a warm start"):
            clone(model).set_params(**FAST).fit(mx).set_params(warm_start=True, **other).fit(mx)
    grown = bx.Multiplex.from_indices(
        *grown.edge_index, grown.edge_layer, node_names=np.arange(42), layer_names=mx.layer_names
    )
    before = model._fitted.model.encoder.input.weight.clone()
    trainer = model.make_trainer(grown)
    assert torch.equal(trainer.model.encoder.input.weight[:40], before)
    assert (model.fit(grown)._fitted.policy.rounds > rounds).all()
    assert model.score_pairs([[0, 41]], mx.layer_names[0]).shape == (1,)


def test_given_negatives_are_the_only_ones_used():
    mx = small()
    free = [pair for pair in some_pairs(mx) if not any(mx.has_edges(pair[None], name)[0] for name in mx.layer_names)]
    given = dict.fromkeys(mx.layer_names, np.array(free[:3]))
    trainer = bx.LinkPredictor(**FAST).make_trainer(mx, negatives=given)
    for layer in range(4):
        drawn = {tuple(pair) for pair in trainer.sampler.draw(np.full(40, layer), np.random.default_rng(0)).tolist()}
        held = {tuple(pair) for pair in trainer.held_negatives[trainer.held.instance == layer].tolist()}
        assert (len(drawn), len(held)) == (2, 1)  # of three, one is for validation
        assert drawn | held == {tuple(pair.tolist()) for pair in free[:3]}
    with pytest.raises(InputError, match="Expected negatives for target layer 'g1-copy1', got none"):
        bx.LinkPredictor(**FAST).fit(mx, negatives={mx.layer_names[0]: [[0, 1]]})
    edge = mx.edges("g1-base")[::-1, 0].tolist()
    with pytest.raises(InputError, match=rf"no edges of layer 'g1-base', got \({edge[0]}, {edge[1]}\)"):
        bx.LinkPredictor(**FAST).fit(mx, targets=["g1-base"], negatives={"g1-base": [edge]})


@pytest.mark.parametrize("policy", ["uniform", "exp3+", "all", "none", "epsilon-greedy"])
def test_policies_by_name(policy):
    mx = small()
    model = bx.LinkPredictor(**{**FAST, "epochs": 1, "policy": policy}).fit(mx)
    total = {"all": 3, "none": 0}.get(policy, 1)
    assert model.layer_probabilities_.to_numpy().sum(axis=1) == pytest.approx(np.full(4, total))
    assert model.score_pairs([[0, 1]], mx.layer_names[0], draws=3).shape == (1,)


def test_a_callable_relevance_receives_what_was_seen():
    groups = []

    def mine(seen):
        assert seen.own.shape == seen.other.shape == seen.label.shape == seen.pair_group.shape
        assert seen.target_embedding.shape == seen.layer_embedding.shape == (len(seen.node_group), 4)
        groups.append(seen.num_groups)
        return torch.ones(seen.num_groups)

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
    for match, fit in {
        "Unknown layer": lambda: bx.LinkPredictor().fit(mx, targets=["nowhere"]),
        "at least 5 edges in target layer 'b', got 1": lambda: bx.LinkPredictor().fit(thin, targets=["b"]),
        "at least 5 edges in target layer 'empty', got 0": lambda: bx.LinkPredictor().fit(thin, targets=["empty"]),
        "k from 1 to 3, the number of other layers, got 4": lambda: bx.LinkPredictor(k=4).fit(mx),
        "k from 1 to 3, the number of other layers, got -1": lambda: bx.LinkPredictor(k=-1).fit(mx),
        "Unknown policy 'hintd'; did you mean 'hinted'": lambda: bx.LinkPredictor(policy="hintd").fit(mx),
        "Unknown relevance": lambda: bx.LinkPredictor(relevance="nearness").fit(mx),
        "width of at least 1 for relevance 'cosine'": lambda: bx.LinkPredictor(relevance="cosine", width=0).fit(mx),
        "distinct target layers": lambda: bx.LinkPredictor().fit(mx, targets=["g1-base", "g1-base"]),
        "list of layer names as targets, got 'g1-base'": lambda: bx.LinkPredictor().fit(mx, targets="g1-base"),
        "list of layer names as targets, got 5": lambda: bx.LinkPredictor().fit(mx, targets=5),
        "a Multiplex to learn from, got MultiGraph": lambda: bx.LinkPredictor().fit(mx.to_networkx()),
        "Unknown policy 3. Known: ": lambda: bx.LinkPredictor(policy=3).fit(mx),
        "Unknown relevance None": lambda: bx.LinkPredictor(relevance=None).fit(mx),
        "dictionary, layer: pairs, got list": lambda: bx.LinkPredictor().fit(mx, negatives=[[0, 1]]),
        "checkpoint=, the folder of the training to resume": lambda: bx.LinkPredictor().fit(mx, resume=True),
        "a device of this machine, got 'abacus'": lambda: bx.LinkPredictor(device="abacus").fit(mx),
        "validation below 1, got 1": lambda: bx.LinkPredictor(validation=1).fit(mx),
    }.items():
        with pytest.raises(InputError, match=match):
            fit()
    with pytest.warns(UserWarning, match="fewer than 5 edges are no targets: 'b', 'empty'"):
        model = bx.LinkPredictor(epochs=1, width=0).fit(thin)
    with pytest.raises(InputError, match=r"a target of training \('a'\), got 'b'"):
        model.score_pairs([[0, 1]], "b")


def test_pairs_that_cannot_be_scored_are_refused(fitted):
    _, model = fitted
    with pytest.raises(InputError, match=r"\(n, 2\) array, got shape \(3,\)"):
        model.score_pairs([0, 1, 2], "g1-base")
    with pytest.raises(InputError, match=r"two different nodes, got \[4, 4\]"):
        model.score_pairs([[0, 1], [4, 4]], "g1-base")
    with pytest.raises(InputError, match="99"):
        model.score_pairs([[0, 99]], "g1-base")
    assert model.score_pairs([], "g1-base").shape == (0,)
    with pytest.raises(InputError, match=r"Unknown node '0'. Known nodes: 0, 1, 2"):
        model.score_pairs([["0", "1"]], "g1-base")
    with pytest.raises(InputError, match="a Multiplex as context, got dict"):
        model.score_pairs([[0, 1]], "g1-base", context={})
    for draws in (-1, 0.5):
        with pytest.raises(InputError, match=f"draws to be an integer of at least 0, got {draws}"):
            model.score_pairs([[0, 1]], "g1-base", draws=draws)
    for top in (-1, 2.5, None):
        with pytest.raises(InputError, match=f"top to be an integer of at least 0, got {top}"):
            model.recommend("g1-base", top=top)


def test_scores_of_all_targets_at_once_with_each_layer_alone(fitted):
    mx, model = fitted
    pairs = some_pairs(mx, 40)
    layer = np.arange(len(pairs)) % 4
    free = ~np.array([mx.has_edges(pair[None], mx.layer_names[i])[0] for pair, i in zip(pairs, layer, strict=True)])
    pairs, layer = pairs[free], layer[free]
    others = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])[layer]
    scores = model.score_by_layer(pairs, layer, others)
    assert scores.shape == others.shape
    for target, name in enumerate(mx.layer_names):
        favourite = model.layer_probabilities_.loc[name].to_numpy().argmax()
        here = layer == target
        with_favourite = scores[here][others[here] == favourite]
        np.testing.assert_allclose(with_favourite, model.score_pairs(pairs[here], name), rtol=1e-4, atol=1e-5)


def test_what_scores_by_layer_refuse(fitted):
    mx, model = fitted
    known = mx.edges(mx.layer_names[0]).T[:1]
    with pytest.raises(InputError, match="no edges of their layer in training, got "):
        model.score_by_layer(known, [0], [[1]])
    with pytest.raises(InputError, match="none of them a pair's own layer"):
        model.score_by_layer([[0, 1]], [0], [[0]])
    with pytest.raises(InputError, match=r"for 1 pairs, got \(1,\) and \(1,\)"):
        model.score_by_layer([[0, 1]], [0], [1])
    alone = bx.LinkPredictor(**FAST).fit(mx, targets=[mx.layer_names[1]])
    with pytest.raises(InputError, match="Expected a layer that was a target of training"):
        alone.score_by_layer(some_pairs(mx, 3), [0, 0, 0], [[1]] * 3)
