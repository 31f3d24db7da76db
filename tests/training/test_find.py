"""Panels are found where layers help, and not where none does; gains certify them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import banditplex as bx
from banditplex.datasets.groups import groups
from banditplex.nn.panels import Panels
from banditplex.training import comparison, find, gains, logistic
from banditplex.training.comparison import STEPS, Comparison, Estimate
from banditplex.training.config import Config
from banditplex.training.find import find_panels, helpful
from banditplex.training.gains import Folds, first_clear, layer_gains

SIZES = {"num_nodes": 200, "num_communities": 8, "edges_per_layer": 500}


def panels_of(mx, targets, **settings):
    return find_panels(mx, np.array(targets), Config(**settings).checked()).layers


@pytest.mark.parametrize(
    ("hide", "directed", "overlap"),
    [("layer", False, "disjoint"), ("pair", False, "independent"), ("layer", True, "independent")],
)
def test_all_layers_of_a_group_are_pooled_and_no_other(hide, directed, overlap):
    mx = groups(24, 4, seed=6, overlap=overlap, **SIZES)
    if directed:
        mx = mx.to_directed()
    found = panels_of(mx, [0, 9], hide=hide)
    assert {target: set(layers) for target, layers in found.items()} == {0: {1, 2, 3}, 9: {8, 10, 11}}


def test_beyond_many_layers_the_promising_ones_are_compared(monkeypatch):
    monkeypatch.setattr(find, "COMPARED", 5)
    mx = groups(48, 4, seed=6, **SIZES)
    assert set(panels_of(mx, [13])[13]) == {12, 14, 15}


def test_a_copy_of_a_layer_in_the_panel_is_not_pooled():
    mx = groups(8, 4, seed=6, **SIZES)
    table = mx.to_pandas()[["source", "destination", "layer"]]
    copies = [table[table["layer"] == "g0-1"].assign(layer=f"copy-{place}") for place in range(4)]
    more = bx.Multiplex.from_pandas(pd.concat([table, *copies]), directed=False)
    target = more.layer_index("g0-0")
    found = panels_of(more, [target], hide="layer")[target]
    names = {more.layer_names[layer] for layer in found}
    assert len(found) == 3
    assert names > {"g0-2", "g0-3"}
    assert len(names & {"g0-1", "copy-0", "copy-1", "copy-2", "copy-3"}) == 1


def test_copies_of_the_target_are_pooled_though_they_share_all_edges():
    mx = bx.load_dataset("twins")
    assert panels_of(mx, [mx.layer_index("a")], hide="layer")[mx.layer_index("a")] == (mx.layer_index("a-twin"),)


def test_noise_has_no_panel():
    empty = [not panels_of(groups(6, 1, noise_layers=5, seed=seed, **SIZES), [0])[0] for seed in range(4)]
    assert sum(empty) >= 3


def test_the_policy_decides():
    mx = groups(24, 4, seed=6, **SIZES)
    assert panels_of(mx, [0], policy="none") == {0: ()}
    fixed = panels_of(mx, [0, 9], policy="fixed", policy_options={"arms": [[2, 6], [8, 22]]})
    assert fixed == {0: (3, 7), 9: (8, 23)}  # arms skip the target
    assert set(panels_of(mx, [0], policy="all")[0]) == {1, 2, 3}
    for settings in ({"k": 2}, {"evidence": "drawn"}):
        assert panels_of(mx, [0], **settings) == {0: ()}


def test_other_targets_have_the_same_panels(monkeypatch):
    """Unless there are so many that the search has fewer looks for each."""
    mx = groups(28, 4, seed=6, **SIZES)
    alone = panels_of(mx, [9])
    assert panels_of(mx, [0, 9, 20])[9] == alone[9]
    asked = []
    monkeypatch.setattr(find, "promising_layers", lambda *given: asked.append(given[2:]) or given[1][:1])
    panels_of(mx, [0, 9, 20])
    assert asked == [(find.COMPARED, find.LOOKS // 3)] * 3


def test_layers_that_link_opposite_communities_are_pooled():
    mx = groups(60, 4, seed=5, kin="opposite", **SIZES)
    assert set(panels_of(mx, [0], hide="layer")[0]) == {1, 2, 3}


@pytest.fixture(scope="module")
def fitted():
    mx = groups(48, 4, seed=5, **SIZES)
    return mx, bx.LinkPredictor(epochs=2, hide="layer", seed=1).fit(mx, ["g0-0", "g3-1"])


def test_panel_and_k_say_what_is_used(fitted):
    _, model = fitted
    panel = model.panel_
    assert panel.columns.tolist() == ["target", "layer", "weight", "term"]
    for target, group in {"g0-0": {"g0-1", "g0-2", "g0-3"}, "g3-1": {"g3-0", "g3-2", "g3-3"}}.items():
        rows = panel[panel["target"] == target]
        assert set(rows["layer"]) == group
        assert rows["weight"].tolist() == [0.25] * 3  # a quarter each, the target has the last one
        assert model.k_[target] == 3


def test_gains_certify_the_panel_among_many_layers(fitted):
    _, model = fitted
    gains = model.layer_gains_
    helps = gains[gains["helps"]]
    assert set(helps["target"]) == {"g0-0", "g3-1"}
    assert (helps["target"].str[:2] == helps["layer"].str[:2]).all()
    assert gains.groupby("target").size().max() <= 4 * 8


@pytest.mark.slow
def test_gains_of_a_target_do_not_depend_on_other_targets(fitted):
    mx, model = fitted
    alone = bx.LinkPredictor(epochs=1, hide="layer", seed=1).fit(mx, ["g3-1"]).layer_gains_
    both = model.layer_gains_
    both = both[both["target"] == "g3-1"].reset_index(drop=True)
    np.testing.assert_allclose(both[["gain", "low", "high"]], alone[["gain", "low", "high"]], rtol=1e-6)


def test_a_saved_model_keeps_its_panels(fitted, tmp_path):
    mx, model = fitted
    model.save(tmp_path / "run")
    again = bx.LinkPredictor.load(tmp_path / "run")
    pairs = [[0, 1], [5, 9], [17, 120]]
    assert (again.score_pairs(pairs, layer="g0-0") == model.score_pairs(pairs, layer="g0-0")).all()
    assert again.panel_.equals(model.panel_)
    assert (again.score_pairs(pairs, layer="g0-0", context=mx) == model.score_pairs(pairs, layer="g0-0")).all()


def test_new_edges_of_the_panel_count_and_those_of_other_layers_hardly(fitted):
    """Two nodes without any edge in common get common neighbours: in layers of the panel, or in others."""
    mx, model = fitted
    alone = model.score_pairs([[0, 1]], layer="g0-0")[0]
    change = {}
    for group in ("g0", "g7"):
        new = [(node, other, f"{group}-{place}") for node in (0, 1) for other in range(50, 90) for place in (1, 2)]
        table = mx.to_pandas()[["source", "destination", "layer"]]
        more = pd.concat([table, pd.DataFrame(new, columns=table.columns)]).drop_duplicates()
        context = bx.Multiplex.from_edges(
            more["source"], more["destination"], more["layer"], num_nodes=mx.num_nodes, layer_names=mx.layer_names,
            duplicates="max",
        )  # fmt: skip
        change[group] = model.score_pairs([[0, 1]], layer="g0-0", context=context)[0] - alone
    assert change["g0"] > 1
    assert change["g0"] > 2 * abs(change["g7"])


def test_limits_of_an_estimate_by_hand():
    """t with 9 degrees of freedom: 2.262 at 97.5 %, 3.690 at 99.75 % (printed tables); .001 more."""
    estimate = Estimate(gain=1.0, error=0.1, edges=10.0, nodes=10.0)
    assert estimate.interval(1) == pytest.approx({"gain": 1, "low": 1 - 0.2272, "high": 1 + 0.2272}, abs=1e-4)
    assert estimate.interval(10) == pytest.approx({"gain": 1, "low": 1 - 0.3700, "high": 1 + 0.3700}, abs=1e-4)
    assert (
        estimate._replace(edges=50.0).interval(1) == estimate.interval(1) == estimate._replace(nodes=50.0).interval(1)
    )


@pytest.mark.parametrize(("edges", "negatives"), [(100, 400), (1_000, 4_000), (1_500, 4_000), (2_500, 4_000)])
def test_gains_have_four_negatives_per_edge_and_two_of_many(edges, negatives):
    """Of 2,500 edges 2,000 are taken."""
    mx = groups(2, 2, num_nodes=400, edges_per_layer=edges, num_communities=8, seed=0)
    data = bx.LinkPredictor(device="cpu").make_trainer(mx, ["g0-0"]).data
    found = Comparison.of(data, data.full_view.graph, 0, np.random.default_rng(0))
    taken = min(mx.layer_sizes[0], 2_000)
    assert mx.layer_sizes[0] == edges
    assert np.bincount(found.label.long()).tolist() == [negatives, taken]
    few = Comparison.of(data, data.full_view.graph, 0, np.random.default_rng(0), most=50, negatives_each=2)
    assert np.bincount(few.label.long()).tolist() == [100, 50]


def test_falls_of_the_loss_with_a_whole_and_a_half_layer_by_hand():
    """An edge with logits log 1 and, with the layer, log 16: log losses log 2, log 17/16, and half way log 5/4."""
    alone, both = torch.zeros(1, 1, 1), torch.ones(1, 1, 2)
    logits = {alone: torch.tensor([[0.0]]), both: torch.tensor([[16.0]]).log()}
    fold = SimpleNamespace(
        fold=torch.tensor([0, 1]),
        label=torch.tensor([0.0, 1.0]),
        logits_of=lambda number, columns, known: logits[columns],
    )
    found = Comparison.falls_of(fold, 1, alone, both)
    np.testing.assert_allclose(found, [[[np.log(2 * 16 / 17)], [np.log(2 * 4 / 5)]]], rtol=1e-6)


def test_half_the_weight_counts_where_the_whole_proves_nothing():
    """Many degrees of freedom, so 1.96 errors: limits above 0 are those of 3 ± .981 and of 1 ± .197."""
    clear, unclear, half = (Estimate(gain, error, 1e9, 1e9) for gain, error in ((3, 0.5), (2, 2), (1, 0.1)))
    assert [first_clear(found, 1)["gain"] for found in ((clear, half), (unclear, half), (unclear, unclear))] == [
        3,
        1,
        2,
    ]
    nothing = first_clear([unclear, Estimate(0.0, 0.1, 1e9, 1e9)], 1)
    assert nothing == pytest.approx({"gain": 0, "low": -0.197, "high": 0.197, "weight": 0.5}, abs=1e-4)
    assert first_clear([clear, half], 1)["weight"] == 1


@pytest.mark.parametrize(("layers", "tested"), [(38, 37), (60, 32)])
def test_limits_hold_for_all_layers_that_are_tested(monkeypatch, layers, tested):
    """With whole and half of up to 40 others, or of the 8 best in each of four folds, beside each of all layers."""
    families, interval = set(), Estimate.interval

    def noted(self, family):
        families.add(family)
        return interval(self, family)

    monkeypatch.setattr(Estimate, "interval", noted)
    mx = groups(layers, 2, num_nodes=40, edges_per_layer=60, num_communities=4, seed=0)
    data = bx.LinkPredictor(device="cpu").make_trainer(mx, ["g0-0"]).data
    found = layer_gains(data, 0)
    assert families == {2 * layers * tested}
    assert len(found) <= tested


def test_the_mean_fall_and_its_error_by_hand():
    """Weights 1/2, 1/4, 1/4: the mean is -3/4, parts .875, .4375, -1.3125; the first two pairs share node 1."""
    pairs = SimpleNamespace(pairs=torch.tensor([[0, 1], [1, 2], [3, 4]]), label=torch.tensor([1.0, 0.0, 0.0]))
    found = Comparison.estimate(pairs, np.array([1.0, 1.0, -6.0]))
    assert found.gain == pytest.approx(-0.75)
    assert found.error == pytest.approx(np.sqrt((0.875 + 0.4375) ** 2 + 1.3125**2))
    assert (found.edges, found.nodes) == (1.0, 2.0)
    assert np.isnan(list(found.interval(10).values())).all()  # of one edge
    without = Comparison.estimate(pairs, np.array([np.nan, 1.0, -6.0]))
    assert np.isnan([without.gain, without.error]).all()
    assert without.edges == 0.0


class Columns(Comparison):
    """Compares some columns (m, n), which stand for layers; the target alone has none."""

    def columns(self, layers):
        more = self.data[torch.from_numpy(layers)].unsqueeze(2)
        return torch.zeros_like(more[:1]), more


@pytest.fixture
def columns():
    """Three that tell labels apart, from the best to the worst; near copies of the first two; noise."""
    size, random = 4_000, torch.Generator().manual_seed(3)
    label = (torch.arange(size) < size // 2).double()
    noise = torch.randn(7, size, generator=random, dtype=torch.float64)
    best, second, third = (step * label + each for step, each in zip((1.0, 0.8, 0.6), noise[:3], strict=True))
    first_copy, second_copy = best + 0.01 * noise[3], second + 0.01 * noise[4]
    pairs = torch.arange(2 * size).view(size, 2)
    data = torch.stack([third, second_copy, best, noise[5], first_copy, second])
    return Columns(data, SimpleNamespace(num_nodes=2 * size), 0, pairs, label)


def test_layers_that_help_come_best_first_and_no_copies(columns):
    found = helpful(columns, np.arange(6))
    assert [{2: "best", 4: "best", 1: "second", 5: "second"}.get(place, place) for place in found] == [
        "best",
        "second",
        0,
    ]
    assert helpful(columns, np.array([3])) == ()


def test_without_the_rule_on_copies_all_that_help_come(columns, monkeypatch):
    monkeypatch.setattr(comparison, "NEW", -np.inf)
    assert sorted(helpful(columns, np.arange(6))) == [0, 1, 2, 4, 5]


def test_a_layer_must_help_by_so_many_standard_errors():
    class Compared(Columns):
        def estimates_of(self, without, added):
            return [Estimate(gain, 0.1, 9.0, 9.0) for gain in (0.28, 0.27, 0.5, 0.4)]  # 2.75 errors are 0.275

        def losses(self, columns, known):
            """Each column lowers all losses by its own value."""
            return np.array([columns[..., 0, :].sum(-1).numpy() * -1.0]).T

        def logits(self, columns, known):
            return columns[..., 0]

        def estimate(self, fall):
            return Estimate(float(fall[0]), 0.1, 9.0, 9.0)

    compared = Compared(torch.tensor([[0.3], [0.3], [0.1], [0.4]]), None, 0, None, None)
    assert helpful(compared, np.array([0, 1, 2, 3])) == (2, 3, 0)  # by their gains; beside those before, .1, .4 and .3


def test_a_second_copy_of_the_target_columns_adds_nothing(monkeypatch):
    """Of a star of 28 edges among 120 nodes; with one penalty for all, they would seem to help."""
    ends, layers, names = [[0] * 28 + [1, 3], [*range(1, 29), 2, 4]], [0] * 28 + [1] * 2, [*range(120)]
    star = bx.Multiplex.from_indices(*ends, layers, node_names=names, layer_names=["0", "1"])
    data = bx.LinkPredictor(device="cpu").make_trainer(star, ["0"]).data
    compare = Comparison.of(data, data.full_view.graph, 0, np.random.default_rng(0))

    def gain():
        before, after = compare.logits(compare.alone, own), compare.logits(twice, own)
        return compare.estimates_of(before, after)[0].gain

    own, twice = compare.alone.shape[2], torch.cat([compare.alone] * 2, 2)
    assert abs(gain()) < 0.003
    monkeypatch.setattr(logistic, "LIGHT", 1.0)
    monkeypatch.setattr(comparison, "BOLDER", (1.0,))
    assert gain() > 0.01


def test_logits_are_made_as_bold_as_suits_the_target_alone():
    """Two edges with logits s and -3 s, which weigh half as much as a negative with -s: the loss grows with s."""
    assert comparison.boldness(torch.tensor([[1.0, -1.0]]), torch.tensor([1.0, 0.0])) == 12.0
    logit, label = torch.tensor([[1.0, -3.0, -1.0]]), torch.tensor([1.0, 1.0, 0.0])
    loss = [np.log1p(np.exp(-s)) / 2 + np.log1p(np.exp(3 * s)) / 2 + np.log1p(np.exp(-s)) for s in (1.0, 1.5, 2.0)]
    assert loss == sorted(loss)
    assert comparison.boldness(logit, label) == 1.0
    with_layer = torch.tensor([[3.0, -1.0, 0.0]])
    np.testing.assert_allclose(
        comparison.falls_between(logit[:, [0, 2]], with_layer[:, [0, 2]], label[[0, 2]])[0, 0],
        np.log1p(np.exp([-12.0, -12.0])) - np.log1p(np.exp([-36.0, 0.0])),
        rtol=1e-5, atol=1e-9,
    )  # fmt: skip


def test_layers_are_judged_by_what_half_of_each_adds():
    """An edge: log losses log 2 without, log 17/16 with a layer and log 5/4 half way; the error of one is 0."""
    assert STEPS == (1.0, 0.5)
    one = Comparison(None, None, 0, torch.tensor([[0, 1], [2, 3]]), torch.tensor([1.0, 0.0]))
    found = one.estimates_of(torch.zeros(1, 2), torch.tensor([[16.0, 1 / 16]]).log())
    assert [each.gain for each in found] == pytest.approx([np.log(2 * 4 / 5)])


def test_layers_of_panels_come_first():
    assert Panels.none([3, 1]).empty
    assert Panels({3: (), 1: (2,)}).targets.tolist() == [1, 3]


class Looked:
    """Of four pairs, the second and the last are in fold 1; what a comparison of layers without a fold finds."""

    target, fold = 7, torch.tensor([0, 1, 2, 1])

    def __init__(self, alone, new):
        self.alone, self.new, self.looked = alone, new, []

    def within(self, graph, at):
        self.looked.append((graph, at.tolist()))
        return self

    def logits_with(self, layers):
        return torch.zeros(1, 4), torch.zeros(len(layers), 4)

    def estimates_of(self, without, added):
        return self.alone

    def are_new(self, without, added, alone):
        return self.new

    def choose(self, layers):
        folds = Folds.__new__(Folds)
        folds._graphs = ["all", "without fold 1"]
        self.data, self.promising = SimpleNamespace(full_mx=SimpleNamespace(num_layers=20)), layers
        return folds._choose(self, 1).tolist()


def promising(look, others, count, looks):
    assert others.tolist() == [*range(7), *range(8, 20)]  # all but the target
    assert (count, looks) == (gains.COMPARED, gains.LOOKS_OF_FOLD)
    return look.promising


def test_layers_are_chosen_without_the_pairs_of_the_fold_that_tests_them(monkeypatch):
    """They come in the order of their gain over its error."""
    alone = [Estimate(gain, error, 9.0, 9.0) for gain, error in ((0.25, 0.1), (0.3, 0.1), (0.4, 1.0))]
    look = Looked(alone, [True] * 3)
    monkeypatch.setattr(gains, "promising_layers", promising)
    assert look.choose(np.array([3, 4, 5])) == [4, 3, 5]
    assert look.looked == [("without fold 1", [0, 2])]


def test_copies_are_tested_after_what_is_new(monkeypatch):
    """Of nine layers the last seems to help by one error alone; the second to fifth add nothing new."""
    monkeypatch.setattr(gains, "promising_layers", promising)
    alone = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.1)
    look = Looked([Estimate(gain, 0.1, 9.0, 9.0) for gain in alone], [True] + [False] * 4 + [True] * 4)
    assert look.choose(np.arange(10, 19)) == [10, 15, 16, 17, 11, 12, 13, 14]


@pytest.mark.parametrize(
    ("gains", "hold"), [([2.1, 1.9, -3.0], True), ([2.1, 2.2, 0.0], False), ([float("nan")] * 3, True)]
)
def test_bridges_are_left_out_where_renamed_layers_seem_to_help(gains, hold):
    """By chance one of 32 may."""
    asked = []

    class Compare:
        def renamed(self, layers, rng):
            asked.append(layers.tolist())
            return "without", "with"

        def estimates_of(self, without, added):
            assert (without, added) == ("without", "with")
            return [Estimate(gain, 1.0, 9, 9) for gain in gains]

    assert find.bridges_hold(Compare(), np.arange(70), np.random.default_rng(0)) is hold
    assert asked == [[*range(0, 70, 3)]]


def test_layers_that_link_the_same_unlike_nodes_are_pooled(monkeypatch):
    """Layers 1 to 3 link opposite communities: nodes that are linked have a common neighbour by chance alone."""
    mx = groups(60, 4, seed=5, kin="opposite", **SIZES)

    def right():
        found = panels_of(mx, [1, 2, 5, 6], hide="pair")
        return sum(layer != target and layer // 4 == target // 4 for target in found for layer in found[target])

    assert right() >= 8  # of 12
    monkeypatch.setattr(find, "bridges_hold", lambda *_: False)
    assert right() <= 5
