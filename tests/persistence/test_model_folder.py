"""Model folders: what is loaded predicts as what was saved, and a cut-off save does no harm."""

import copy
import json
import os
import shutil
from functools import partial

import numpy as np
import pytest
from torch_geometric.nn import GATConv

import banditplex as bx
from banditplex.errors import FormatError
from banditplex.nn.relevance import euclidean
from banditplex.persistence.model_folder import FORMAT
from tests.refusals import refuses
from tests.test_predictor import FAST, small, some_pairs


@pytest.fixture(scope="module")
def fitted():
    mx = small()
    return mx, bx.LinkPredictor(**FAST).fit(mx)


@pytest.mark.parametrize(
    "conv",
    [
        partial(GATConv, heads=2, concat=False),
        pytest.param(type("GCNConv", (GATConv,), {}), marks=pytest.mark.slow),
    ],
)
def test_a_convolution_of_your_own_is_needed_to_load(tmp_path, conv):
    mx = small()
    model = bx.LinkPredictor(**FAST, conv=conv).fit(mx, targets=["g1-base"])
    model.save(tmp_path)
    name = "partial" if isinstance(conv, partial) else "GCNConv"
    with refuses("conv=", repr(name)):
        bx.LinkPredictor.load(tmp_path)
    again = bx.LinkPredictor.load(tmp_path, conv=conv, device="cpu")
    assert np.array_equal(*(each.score_pairs(some_pairs(mx), "g1-base") for each in (model, again)))


@pytest.mark.parametrize("conv", ["gcn", pytest.param(GATConv, marks=pytest.mark.slow)])
def test_a_saved_model_predicts_without_the_training_data(tmp_path, conv):
    mx = small()
    model = bx.LinkPredictor(**FAST | {"conv": conv, "k": 2}).fit(mx, targets=list(mx.layer_names[:2]))
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
    with refuses(tmp_path / "file"):
        fitted[1].save(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_settings_changed_after_a_fit_are_those_of_the_next(fitted, tmp_path):
    mx, model = fitted[0], copy.deepcopy(fitted[1])
    model.set_params(width=8, policy="exp3+", k=2, seed=5).save(tmp_path)
    again = bx.LinkPredictor.load(tmp_path, device="cpu")
    assert {name: again.get_params()[name] for name in FAST} == FAST
    assert (again.policy, again.k, again.seed) == ("default", 1, 0)
    pairs, layer = some_pairs(mx), mx.layer_names[0]
    assert np.array_equal(model.score_pairs(pairs, layer), again.score_pairs(pairs, layer))


def test_broken_model_folders_are_refused(fitted, tmp_path):
    _, model = fitted
    with refuses(tmp_path / "none", "model.json"):
        bx.LinkPredictor.load(tmp_path / "none")
    model.save(tmp_path / "run")
    index = json.loads((tmp_path / "run/model.json").read_text())
    shutil.copytree(tmp_path / "run", tmp_path / "cut")
    (tmp_path / "cut/weights.safetensors").unlink()
    with refuses(tmp_path / "cut", "weights.safetensors", error=FormatError):
        bx.LinkPredictor.load(tmp_path / "cut")
    shutil.copytree(tmp_path / "run", tmp_path / "flipped")
    for name in ("graph", "policy", "weights"):
        file = tmp_path / f"flipped/{name}.safetensors"
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with refuses(file, "model.json", error=FormatError):
            bx.LinkPredictor.load(tmp_path / "flipped")
        file.write_bytes(whole)
    shutil.copytree(tmp_path / "run", tmp_path / "swapped")
    wider, older = ({**index, "config": index["config"] | more} for more in ({"width": 8}, {"shard_layers": False}))
    for wrong, *values in (
        ({"format": FORMAT}, "'config'"),
        (wider, "weights.safetensors", "width", (8,), (4,)),
        (older, "shard_layers"),
    ):
        (tmp_path / "swapped/model.json").write_text(json.dumps(wrong))
        with refuses(tmp_path / "swapped", *values, error=FormatError):
            bx.LinkPredictor.load(tmp_path / "swapped")
    (tmp_path / "run/model.json").write_text(json.dumps({**index, "format": 99}))
    with refuses("model.json", FORMAT, 99, error=FormatError):
        bx.LinkPredictor.load(tmp_path / "run")
    (tmp_path / "run/model.json").write_text("{")
    with refuses("model.json", "JSON", error=FormatError):
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


@pytest.mark.slow
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
    assert len(left) == 17  # draft, place and folder of three successors and the index; three places and their folder


def test_a_relevance_is_saved_by_its_name(tmp_path):
    model = bx.LinkPredictor(**FAST, relevance=euclidean).fit(small(), ["g1-base"])
    model.save(tmp_path)
    again = bx.LinkPredictor.load(tmp_path, device="cpu")
    assert again.relevance == "euclidean"
    again.fit(small(), ["g1-base"])


def test_a_loaded_model_has_the_arguments_that_it_was_made_with(tmp_path):
    ends = np.random.default_rng(0).integers(0, 20, (2, 120))
    mx = bx.Multiplex.from_edges(*ends, np.repeat([1, 2, 3], 40), num_nodes=20, self_loops="drop")
    options = {"policy": "cost-aware", "policy_options": {"prices": {2: 3.0}, "strength": 0.5}}
    model = bx.LinkPredictor(epochs=1, width=0, **options).fit(mx)
    model.save(tmp_path)
    again = bx.LinkPredictor.load(tmp_path)
    assert again.hide is None
    assert {name: getattr(again, name) for name in options} == options
    assert again.get_params() == model.get_params()
    assert (again.fit(mx).score_pairs([[0, 1]], 1) == model.fit(mx).score_pairs([[0, 1]], 1)).all()
