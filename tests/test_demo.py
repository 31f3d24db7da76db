"""The demo in small: what it says is what it measured, and nobody saw the test pairs."""

import json

import numpy as np
import pandas as pd
import pytest

from banditplex import demo
from banditplex.datasets import load_dataset
from banditplex.evaluation import split
from banditplex.plots import spread

SEEDS, EPOCHS = 1, 5


@pytest.fixture(scope="module")
def calls():
    return []


@pytest.fixture(scope="module")
def measured(calls):
    return demo.measure(seeds=SEEDS, epochs=EPOCHS, on_epoch=calls.append)


def test_every_policy_is_measured_on_every_split_and_target(measured, calls):
    found = measured.results[["policy", "seed", "target"]].itertuples(index=False, name=None)
    assert set(found) == {(policy, 0, target) for policy in demo.POLICIES for target in demo.TARGETS}
    assert len(measured.results) == 4 * 2
    assert measured.relevant == {f"g{each}-0": [f"g{each}-{other}" for other in range(1, 5)] for each in range(2)}
    assert calls == [policy for policy in demo.POLICIES for _ in range(SEEDS * EPOCHS)]


def test_policies_pool_what_they_are_called_after(measured):
    layers = measured.results.groupby("policy")[["right", "wrong"]].sum()
    assert layers.loc["none"].tolist() == [0, 0]
    assert layers.loc["oracle"].tolist() == [8, 0]
    assert layers.loc["bandit"].tolist() == [8, 0]
    assert layers.loc["random"].sum() == 8


def test_test_pairs_are_hidden(measured):
    """And the oracle sees the right layers alone."""
    mx = load_dataset("groups")
    part = split(mx, hide="layer", seed=0)
    part.check()
    assert part.label.sum() == 60 * 160  # a fifth of 800 edges, in each of 60 layers
    assert measured.model.multiplex_.num_edges == mx.num_edges - 60 * 160
    (whole, targets), *others = demo.graphs("bandit", part.train, measured.relevant)
    assert others == []
    assert targets == ["g0-0", "g1-0"]
    assert whole is part.train
    first, second = demo.graphs("oracle", part.train, measured.relevant)
    assert sorted(first[0].layer_names) == [f"g0-{each}" for each in range(5)]
    assert sorted(second[0].layer_names) == [f"g1-{each}" for each in range(5)]
    assert [first[1], second[1]] == [["g0-0"], ["g1-0"]]


def test_layers_are_proven(measured):
    rows = demo.proven(measured)
    assert {(row["target"], row["layer"]) for row in rows} >= {
        (target, layer) for target, layers in measured.relevant.items() for layer in layers
    }
    helps = measured.model.layer_gains_.query("helps")[["target", "layer"]].itertuples(index=False, name=None)
    assert {(row["target"], row["layer"]) for row in rows if row["helps"]} == set(helps)
    right = [{"helps": helps, "right": True} for helps in (True, True, False)]
    assert "Of 3 layers that help in truth, 2 are proven; of all others, none." in demo.judge_gains(right)
    assert "of all others, 1." in demo.judge_gains([*right, {"helps": True, "right": False}])


@pytest.mark.slow
def test_the_page_has_links_and_quality_of_the_bandit_s_first_model(measured, tmp_path):
    text = demo.write_page_of(measured, tmp_path).read_text(encoding="utf-8")
    data = json.loads(text.partition('<script id="data" type="application/json">')[2].partition("</script>")[0])
    mx = measured.model.multiplex_
    assert len(data["held_out"]["targets"]) == len(data["history"]["targets"]) == 2
    part = data["links"]["targets"][0]
    pairs = np.stack([part["source"], part["destination"]], 1).astype(int)
    assert len(pairs) == 100
    assert not mx.has_edges(pairs, mx.layer_names[part["target"]]).any()
    assert [each["value"] for each in data["about"]["settings"] if each["name"] == "epochs"] == [str(EPOCHS)]


@pytest.fixture
def by_hand():
    """Two seeds and two targets; the bandit is as good as random, and above none."""
    level = {"none": 0.5, "random": 0.6, "bandit": 0.6, "oracle": 0.7}
    rows = [
        {"policy": policy, "seed": seed, "accuracy": 0.5, "auc": auc + 0.1 * seed + more, "seconds": 2.0 + seed}
        | {"right": 3 + seed, "wrong": int(more > 0)}
        for policy, auc in level.items()
        for seed in (0, 1)
        for more in (0.0, 0.2)
    ]
    return demo.Measured({"a": ["b"], "c": ["d"]}, pd.DataFrame(rows))


def test_means_and_deviations_by_hand(by_hand):
    row = demo.summarise(by_hand)[2]
    assert row["policy"] == "bandit"
    assert row["auc"] == pytest.approx(0.75)  # seeds: 0.7 and 0.8
    assert row["auc_deviation"] == pytest.approx(0.05)
    assert (row["accuracy"], row["accuracy_deviation"], row["seconds"]) == (0.5, 0, 2.5)
    assert (row["right"], row["wrong"]) == (7, 1)  # of two targets: 6 and 8, 1 and 1


def test_the_worth_of_the_bandit_by_hand(by_hand):
    differences = demo.compare(by_hand)
    assert {row["policy"]: row["difference"] for row in differences} == pytest.approx(
        {"none": 0.1, "random": 0.0, "oracle": -0.1}, abs=1e-12
    )
    assert [row["higher"] for row in differences if row["policy"] != "random"] == [2, 0]
    rows = demo.summarise(by_hand)
    said = demo.conclude(rows, differences, splits=2, epochs=10)
    assert "After 10 epochs" in said
    assert "worth .200" in said
    assert "50%" in said
    assert "+0.100 to none (higher in 2 of 2)" in said
    above = [{**row, "auc": 0.9 if row["policy"] == "bandit" else row["auc"]} for row in rows]
    assert "the bandit reaches all of it" in demo.conclude(above, differences, splits=2, epochs=10)
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
    assert [row["target"] for row in found["gains"] if row["right"]] == ["g0-0"] * 4 + ["g1-0"] * 4
    assert [row["policy"] for row in found["differences"]] == ["none", "random", "oracle"]
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
    assert lines[2][5] == f"{rows[2]['auc']:.3f}"  # one split has no deviation
    assert demo.policy_table([{**rows[2], "auc": 0.5, "auc_deviation": 0.25}])[1][0][5] == "0.500 ± 0.250"
    assert "1 split," in demo.introduce(measured)
    heads, lines = demo.proven_table(demo.proven(measured))
    assert all(len(line) == len(heads) for line in lines)
    row = {"target": "a", "layer": "b", "gain": 0.059, "low": 0.025, "high": 0.094, "helps": True, "right": False}
    assert demo.proven_table([row])[1] == [["a", "b", ".059 (.025 to .094)", "yes", "no"]]
