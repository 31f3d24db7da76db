"""The experiment on quality: rivals and differences by hand."""

import pandas as pd

from experiments.quality import OURS, beside, beside_best, best_rival, cell, not_run
from experiments.runner import run


def rows(values):
    """Return a table of ROC-AUC by (data, method, seed)."""
    named = [{"data": data, "hide": "layer", "method": method, "seed": seed} for data, method, seed in values]
    return pd.DataFrame([row | {"roc_auc": auc} for row, auc in zip(named, values.values(), strict=True)])


TABLE = rows({
    ("x", OURS, 5): 0.8, ("x", OURS, 6): 0.9, ("x", "svd", 5): 0.7, ("x", "svd", 6): 0.6, ("x", "overlap", 5): 0.9,
    ("x", "svd", 0): 0.7, ("x", "overlap", 0): 0.6,
    ("y", OURS, 5): 0.5, ("y", "svd", 5): 0.6, ("y", "overlap", 5): 0.7,
})  # fmt: skip


def test_the_best_rival_is_chosen_on_other_seeds_if_there_are_any():
    assert best_rival("x", "layer", TABLE, [5, 6], ["svd", "overlap"]) == ("svd", "0")
    assert best_rival("x", "layer", TABLE, [0], ["svd", "overlap"]) == ("overlap", "5 to 6")
    assert best_rival("y", "layer", TABLE, [5], ["svd", "overlap"]) == ("overlap", "5")
    assert best_rival("x", "pair", TABLE, [5], ["svd"]) is None


def test_differences_are_of_the_seeds_that_both_have():
    auc = cell("x", "layer", TABLE, [5, 6])[1]
    assert list(auc) == [OURS, "overlap", "svd"]
    assert round(beside("x", auc, "svd").mean, 6) == 0.2  # .8 - .7 and .9 - .6
    assert round(beside("x", auc, "overlap").mean, 6) == -0.1  # .8 - .9


def test_the_last_table_has_every_data_set_and_the_mean():
    _, table, mean = beside_best(["x", "y"], "layer", TABLE, TABLE, [5, 6])
    assert "| x | 2 | .8500 | .6500, svd | +.2000 ± .1225 |" in table  # .1 and .3: sqrt((1/2 + 1/4) .02)
    assert "| y | 1 | .5000 | .7000, overlap | -.2000 ± " in table
    assert mean == "Mean difference: +.0000.\n"
    assert beside_best(["z"], "layer", TABLE, TABLE, [5, 6]) == []


def test_methods_that_are_not_run_come_from_the_earlier_run():
    ours = TABLE[TABLE["method"] == OURS]
    assert set(not_run(TABLE, ours)["method"]) == {"svd", "overlap"}
    assert len(not_run(TABLE, ours)) == 7


def test_rivals_of_an_earlier_run_stand_in_the_page(tmp_path):
    rows({("twins", "svd", 5): 0.7}).to_csv(tmp_path / "values.csv", index=False)
    options = {"--data": "twins", "--hide": "layer", "--methods": "overlap", "--first-seed": "5", "--seeds": "1"}
    given = [*sum(options.items(), ()), "--rivals", str(tmp_path / "values.csv"), "--engine", "serial"]
    run("quality", [*given, "--out", str(tmp_path / "out")])
    page = (tmp_path / "out" / "index.md").read_text(encoding="utf-8")
    assert "| svd | .7000" in page.replace(" 0.", " .")
