"""The demo in small: what it says is what it measured, and nobody saw the test pairs."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from banditplex import demo
from banditplex.datasets import load_dataset
from banditplex.evaluation import roc_auc, split
from banditplex.plots import spread

SEEDS, EPOCHS = 1, 5
JUDGED = [4, 5]  # every fourth epoch, and the last


@pytest.fixture(scope="module")
def calls():
    return []


@pytest.fixture(scope="module")
def measured(calls):
    return demo.measure(seeds=SEEDS, epochs=EPOCHS, on_epoch=lambda *values: calls.append(values))


def test_every_policy_is_measured_on_every_split_and_target(measured, calls):
    assert len(measured.curves) == 5 * SEEDS * len(JUDGED) * 6
    assert sorted(set(measured.curves["epoch"])) == JUDGED
    assert len(measured.results) == 5 * SEEDS * 6
    assert measured.relevant == {f"{x}": f"{x}-twin" for x in "abc"} | {f"{x}-twin": x for x in "abc"}
    assert [(policy, seed) for policy, seed, _ in calls] == [
        (policy, seed) for policy in demo.POLICIES for seed in range(SEEDS) for _ in range(EPOCHS)
    ]
    last = measured.curves[(measured.curves["policy"] == "all") & (measured.curves["seed"] == SEEDS - 1)]
    assert calls[-1][2] == pytest.approx(last[last["epoch"] == EPOCHS]["auc"].mean())


def test_policies_are_what_they_are_called(measured):
    chance = measured.results.groupby("policy")["probability"]
    assert chance.unique()["none"].tolist() == [0]
    assert chance.unique()["uniform"] == pytest.approx([1 / 7])
    assert chance.unique()["oracle"].tolist() == [1]
    assert chance.unique()["all"].tolist() == [1]


def test_test_pairs_are_hidden():
    for seed in range(2):
        part = split(load_dataset("twins"), hide="layer", seed=seed)
        part.check()
        assert part.label.sum() == 8 * 120  # a fifth of 600 edges, in each of eight layers


def test_the_bandit_prefers_the_relevant_layer(measured):
    assert measured.beliefs.sum(axis=1).tolist() == pytest.approx([1] * 6)
    assert all(measured.beliefs.loc[target].idxmax() == layer for target, layer in measured.relevant.items())


def test_gains_are_the_truth(measured):
    rows = demo.learnt(measured)
    assert {row["target"]: row["helps"] for row in rows} == {
        **{target: [layer] for target, layer in measured.relevant.items()}, "noise-1": [], "noise-2": [],
    }  # fmt: skip
    assert "8 of 8" in demo.judge_gains(rows)
    assert "7 of 8" in demo.judge_gains([{**rows[0], "helps": ["b"]}, *rows[1:]])
    assert "7 of 8" in demo.judge_gains([*rows[:-1], {**rows[-1], "helps": ["b"]}])


@pytest.mark.slow
def test_the_page_has_links_and_quality_of_a_model_of_the_whole_graph(measured, tmp_path):
    text = demo.write_page_of(measured, tmp_path).read_text(encoding="utf-8")
    data = json.loads(text.partition('<script id="data" type="application/json">')[2].partition("</script>")[0])
    mx = load_dataset("twins")
    assert len(data["held_out"]["targets"]) == len(data["history"]["targets"]) == mx.num_layers
    part = data["links"]["targets"][0]
    pairs = np.stack([part["source"], part["destination"]], 1).astype(int)
    assert len(pairs) == 100
    assert not mx.has_edges(pairs, mx.layer_names[part["target"]]).any()
    assert [each["value"] for each in data["about"]["settings"] if each["name"] == "epochs"] == [str(EPOCHS)]


@pytest.fixture
def by_hand():
    """Two seeds and two targets; the bandit is as good as uniform, and above all others but the oracle."""
    level = {"none": 0.5, "uniform": 0.6, "bandit": 0.6, "oracle": 0.7, "all": 0.55}
    rows = [
        {"policy": policy, "seed": seed, "accuracy": 0.5, "auc": auc + 0.1 * seed + more, "seconds": 2.0 + seed}
        for policy, auc in level.items()
        for seed in (0, 1)
        for more in (0.0, 0.2)
    ]
    nothing = pd.DataFrame()
    return demo.Measured({}, nothing, pd.DataFrame(rows), nothing, nothing)


def test_means_and_deviations_by_hand(by_hand):
    row = demo.summarise(by_hand)[2]
    assert row["policy"] == "bandit"
    assert row["auc"] == pytest.approx(0.75)  # seeds: 0.7 and 0.8
    assert row["auc_deviation"] == pytest.approx(0.05)
    assert (row["accuracy"], row["accuracy_deviation"], row["seconds"]) == (0.5, 0, 2.5)


def test_uniform_predicts_with_the_layer_that_is_best_on_validation_edges(measured):
    """Once more, by a plain loop: of the other layers, each alone, the one that tells validation pairs apart best."""
    part = split(load_dataset("twins"), hide="layer", seed=0)
    model = demo.make_model("uniform", part.train, measured.relevant, epochs=EPOCHS, seed=0)
    model.fit(part.train, list(measured.relevant))
    mx, data = part.train, model._trainer.data
    target, (pairs, label) = mx.layer_index("a"), part.test("a")
    here = data.validation_edges.instance == data.targets.tolist().index(target)
    held_out = np.concatenate([data.validation_edges.pairs[here], data.validation_negatives[here]])
    fitted = dataclasses.replace(
        model._fitted, mx=data.train_mx, model=model._trainer.ema_model, source=data.train_view
    )
    worth = {}
    for other in set(range(mx.num_layers)) - {target}:
        scores = fitted.logits_by_layer(held_out, np.full(len(held_out), target), np.full((len(held_out), 1), other))
        worth[other] = roc_auc(np.repeat([1, 0], here.sum()), scores[:, 0])
    best = max(worth, key=worth.get)
    scores = model.score_by_layer(mx.node_names[pairs], np.full(len(pairs), target), np.full((len(pairs), 1), best))
    found = measured.results.query("policy == 'uniform' and target == 'a'")["auc"].item()
    assert found == pytest.approx(roc_auc(label, scores[:, 0]), abs=0.02)


def test_the_worth_of_the_bandit_by_hand(by_hand):
    differences = demo.compare(by_hand)
    assert {row["policy"]: row["difference"] for row in differences} == pytest.approx(
        {"none": 0.1, "uniform": 0.0, "oracle": -0.1, "all": 0.05}, abs=1e-12
    )
    assert [row["higher"] for row in differences if row["policy"] != "uniform"] == [2, 0, 2]
    rows = demo.summarise(by_hand)
    said = demo.conclude(rows, differences, splits=2, epochs=10)
    assert "After 10 epochs" in said
    assert "drawn layers alone" in said
    assert "worth .200" in said
    assert "50%" in said
    assert "+0.100 to none (higher in 2 of 2)" in said
    level = [{**row, "auc": 0.5} for row in rows]
    assert demo.oracle_share(level) is None
    assert "worth nothing here" in demo.conclude(level, differences, splits=2, epochs=10)


def test_labels_keep_their_distance():
    rng = np.random.default_rng(0)
    for _ in range(50):
        places = dict(zip("abcde", rng.random(5), strict=True))
        moved = spread(places, 0.1)
        assert sorted(moved, key=moved.__getitem__) == sorted(places, key=places.__getitem__)
        assert np.diff(sorted(moved.values())).min() >= 0.1 - 1e-12
        assert sum(moved.values()) == pytest.approx(sum(places.values()))


@pytest.mark.slow
def test_the_command(tmp_path, call):
    status, out, error = call("demo", "--seeds", "1", "--epochs", "1", "--out", "d", "--json", cwd=tmp_path)
    assert (status, error) == (0, "")
    found = json.loads(out)
    assert [row["policy"] for row in found["policies"]] == list(demo.POLICIES)
    assert [row["target"] for row in found["gains"]] == list(load_dataset("twins").layer_names)
    assert [row["policy"] for row in found["differences"]] == ["none", "uniform", "oracle", "all"]
    assert (tmp_path / found["report"]).is_file()


def test_a_file_in_the_place_of_the_folder_is_refused_at_once(tmp_path, refusal, monkeypatch):
    (tmp_path / "taken").write_text("mine")
    monkeypatch.setattr(demo, "measure", None)
    message = refusal("demo", "--out", "taken", cwd=tmp_path)
    assert message == "taken: expected a folder, got a file."


def test_the_tables_fit_a_page(measured):
    rows = demo.summarise(measured)
    heads, lines = demo.policy_table(rows)
    assert [line[0] for line in lines] == list(demo.POLICIES)
    assert all(len(line) == len(heads) for line in lines)
    assert lines[2][3] == f"{rows[2]['auc']:.3f}"  # one split has no deviation
    assert demo.policy_table([{**rows[2], "auc": 0.5, "auc_deviation": 0.25}])[1][0][3] == "0.500 ± 0.250"
    assert "1 split," in demo.introduce(measured)
    heads, lines = demo.learnt_table(demo.learnt(measured))
    assert lines[0][:2] == ["a", "a-twin"]
    assert lines[-1] == ["noise-2", "no other layer", "", "none", ""]
    assert all(len(line) == len(heads) for line in lines)
