"""The default model on one page: its order, its length, and what the docs say of it."""

import inspect
import re
from pathlib import Path

import banditplex as bx
from banditplex.training import calibration, default
from tests.training.test_loop import random_layers

STEPS = ["panels", "networks", "layers", "regression", "vectors", "stacking", "calibration", "fitted model"]


def test_the_page_has_at_most_100_lines_and_the_docs_have_its_steps():
    source = inspect.getsource(default)
    assert len(source.splitlines()) <= 100
    assert re.findall(r"^ +\d\. (\w+(?: \w+)?)  ", source, re.MULTILINE) == STEPS
    page = (Path(__file__).parents[2] / "docs/model.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\d\. \*\*(.*?)\*\* \((.*?)\)", page, re.MULTILINE)
    assert [name.lower() for name, _ in steps] == STEPS
    for name in (name for _, names in steps for name in names.replace("`", "").split(", ")):
        assert hasattr(default, name)


def test_held_out_pairs_are_drawn_once_and_scored_by_all_parts(monkeypatch):
    drawn, scored, draw, score = [], [], calibration.sample_unknown, calibration.Asked.score

    def counted_draw(every, rng):
        drawn.append(len(every))
        return draw(every, rng)

    def counted_score(asked, model):
        scored.append((type(model).__name__, id(asked.unknown)))
        return score(asked, model)

    monkeypatch.setattr(calibration, "sample_unknown", counted_draw)
    monkeypatch.setattr(calibration.Asked, "score", counted_score)
    bx.LinkPredictor(members=2, epochs=1, warmup=0, width=0).fit(random_layers(0, copied=True))
    assert drawn == [2]
    parts = ("FittedModel", "MemberRegression", "TargetVectors")
    assert [name for name, _ in scored] == [part for part in parts for _ in range(2)]
    first, second = (sample for _, sample in scored[:2])
    assert [sample for _, sample in scored] == [first, second] * 3  # the samples of the two members
