"""The sentences that a page begins with, on small examples whose answer is known."""

import numpy as np
import pandas as pd
import pytest

import banditplex as bx
from banditplex.report.findings import find_help, find_links, find_policies, find_quality

NAMES = [f"l{i}" for i in range(10)]
MX = bx.Multiplex.from_edges(range(10), range(1, 11), NAMES, num_nodes=11)


def said(sentence):
    return "".join(part if isinstance(part, str) else NAMES[part] for part in sentence)


def gains(*helping, tried=(("l9", "l8"),), gain=0.1):
    """Rows of `layer_gains_`: (target, layer) that help, and others that do not."""
    rows = [(*pair, gain, True) for pair in helping] + [(*pair, gain, False) for pair in tried]
    return pd.DataFrame(rows, columns=["target", "layer", "gain", "helps"])


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (gains(("l0", "l1")), "l1 helps l0."),
        (gains(("l0", "l1"), ("l1", "l0"), ("l2", "l1")), "l0 and l1 help each other; l1 helps l2."),
        (gains(("l0", "l1"), ("l0", "l2"), ("l1", "l0")), "l1 and l2 help l0; l0 helps l1."),
        (gains(*(("l0", f"l{i}") for i in range(1, 6))), "l1, l2 and three more help l0."),
        (gains(*((f"l{i}", "l9") for i in range(7))),
         "Seven of eight layers are helped by another one: most of all, l9 helps l0."),
        (gains(), "No layer is shown to help another."),
        (gains(gain=np.nan), "There are too few edges to tell whether other layers help."),
        (gains(tried=()), "There is only one layer, so no other layer can help."),
    ],
)  # fmt: skip
def test_which_layers_help(table, sentence):
    assert said(find_help(table, MX)) == sentence


def held_out(*clear):
    return {"targets": [{"roc_auc": 0.9, "clear": each} for each in clear]}


@pytest.mark.parametrize(
    ("clear", "sentence"),
    [
        ([True] * 8, "All eight layers are predicted clearly better than by chance."),
        ([True], "l0 is predicted clearly better than by chance."),
        ([True] * 2, "l0 and l1 are predicted clearly better than by chance."),
        ([True] * 6 + [False] * 2,
         "l6 and l7 are not predicted clearly better than by chance; the other six layers are."),
        ([True, False], "l1 is not predicted clearly better than by chance; the other layer is."),
        ([False] * 6 + [True] * 2,
         "Six of eight layers are not predicted clearly better than by chance; l6 and l7 are."),
        ([False] * 5 + [True] * 5, "Five of ten layers are not predicted clearly better than by chance."),
        ([False] * 3, "No layer is predicted clearly better than by chance."),
    ],
)  # fmt: skip
def test_how_well_links_are_predicted(clear, sentence):
    assert said(find_quality(range(len(clear)), held_out(*clear))) == sentence


def test_a_model_without_results_on_held_out_edges_says_so():
    assert said(find_quality([0], None)).startswith("How well links are predicted is not known")


@pytest.mark.parametrize(
    ("listed", "clear", "sentence"),
    [
        ([3, 4], [True, True], "Five links to check first, at the top of the table below."),
        ([1, 9], [True, False], "One link to check first, at the top of the table below."),
        ([9, 9], [False, False], "Take none of the predicted links as a finding."),
    ],
)
def test_links_to_check_first(listed, clear, sentence):
    links = {"targets": [{"target": i, "source": ["x"] * size} for i, size in enumerate(listed)]}
    assert find_links(links, [0, 1], held_out(*clear)) == [sentence]
    assert find_links(links, [0, 1], None) == ["The most probable new links are in the table below."]


def test_which_policy_is_the_best():
    lines = [("uniform", 0.8, None), ("bandit", 0.9123, 0.01), ("all", 0.81, 0.4)]
    compared = {
        "metrics": [{"name": "mrr", "title": "MRR"}, {"name": "roc_auc", "title": "ROC-AUC"}],
        "lines": [{"method": name, "metric": "roc_auc", "mean": mean, "p": p} for name, mean, p in lines],
        "reference": "uniform",
    }
    first = "Of three policies, bandit has the highest ROC-AUC, .912"
    assert find_policies(compared) == [f"{first}; bandit clearly differs from uniform."]
    two = "Of two policies, bandit has the highest ROC-AUC, .912; bandit clearly differs from uniform."
    assert find_policies(compared | {"lines": compared["lines"][:2]}) == [two]
    without = [{**line, "p": None} for line in compared["lines"]]
    assert find_policies(compared | {"lines": without}) == [f"{first}."]
    assert find_policies(compared | {"lines": without[:1]}) == []
