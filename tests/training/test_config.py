"""Settings: each has a text, a default that passes and a range; the estimator documents and stores all of them."""

import ast
import inspect
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import banditplex
from banditplex import LinkPredictor
from banditplex.nn.encoder import CONVOLUTIONS
from banditplex.nn.relevance import RELEVANCES
from banditplex.pairs.visibility import HIDE
from banditplex.training import loop
from banditplex.training.config import SETTINGS, Config
from tests.refusals import refuses

SOURCE = Path(banditplex.__file__).parent
PARAMETERS = [*SETTINGS, "verbose"]


# Each setting


def test_every_setting_has_a_sentence_and_its_default():
    for name, setting in SETTINGS.items():
        assert setting.text[0].isupper(), name
        assert setting.text.endswith((".", "...")), name
        assert setting.default == getattr(Config(), name) == getattr(LinkPredictor(), name), name
        assert setting.group, name


def test_defaults_pass_and_stay():
    plain, checked = Config().values(), Config().checked().values()
    assert checked.pop("hide") == HIDE[0]
    assert plain.pop("hide") is None
    assert checked == plain
    assert {name: type(value) for name, value in checked.items()} == {
        name: type(value) for name, value in plain.items()
    }


NUMBERS = {name: setting for name, setting in SETTINGS.items() if setting.low is not None}


def test_what_must_be_a_number_has_a_range():
    kinds, chosen = (bool, str, type(None)), {name for name in SETTINGS if SETTINGS[name].word}
    assert {name for name in SETTINGS if not isinstance(SETTINGS[name].default, kinds)} | chosen == set(NUMBERS)


def test_there_are_25_settings_and_what_is_chosen_by_itself_is_auto_everywhere():
    assert len(SETTINGS) == 25
    chosen = {name for name, setting in SETTINGS.items() if setting.word}
    assert chosen == {"k", "max_steps", "batch_size", "targets_per_step", "members", "width", "hidden_units"}
    assert {SETTINGS[name].default for name in (*chosen, "device")} == {"auto"}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_out_of_range_are_refused_with_name_and_value(name):
    setting = NUMBERS[name]
    below = [] if setting.below is None else [setting.below, setting.below + 1]
    fraction = [setting.low + 0.5] if isinstance(setting.default, int) else []
    for value in (setting.low - 1, math.inf, math.nan, True, "1", [1], *below, *fraction):
        with refuses(name, value if value in below else repr(value)):
            Config(**{name: value}).checked()
    assert getattr(Config(**{name: setting.low}).checked(), name) == setting.low
    if setting.below is not None:
        near = np.nextafter(setting.below, 0)
        assert getattr(Config(**{name: near}).checked(), name) == near


@pytest.mark.parametrize("name", SETTINGS)
def test_none_is_allowed_where_a_setting_is_optional(name):
    if SETTINGS[name].optional:
        found = getattr(Config(**{name: None}).checked(), name)
        assert found == (HIDE[0] if name == "hide" else None)
    elif name in NUMBERS or isinstance(SETTINGS[name].default, bool):
        with refuses(name, None):
            Config(**{name: None}).checked()


@pytest.mark.parametrize("name", [name for name, setting in SETTINGS.items() if isinstance(setting.default, bool)])
def test_switches_are_true_or_false(name):
    for value in (1, 0, "yes", None):
        with refuses(name, repr(value)):
            Config(**{name: value}).checked()
    assert getattr(Config(**{name: np.True_}).checked(), name) is True


def test_choices_are_what_there_is():
    assert SETTINGS["relevance"].choices == tuple(RELEVANCES)
    assert SETTINGS["conv"].choices == CONVOLUTIONS
    assert SETTINGS["hide"].choices == HIDE
    for name, value in (("relevance", lambda batch: batch), ("conv", lambda a, b: None)):  # and anything of one's own
        assert getattr(Config(**{name: value}).checked(), name) is value
    with refuses("hide", *HIDE, "'node'"):
        Config(hide="node").checked()


def test_numbers_of_numpy_become_plain_ones():
    config = Config(k=np.int64(2), learning_rate=np.float32(0.5), validation=np.float16(0.25), weight_decay=1).checked()
    values = config.k, config.learning_rate, config.validation, config.weight_decay
    assert values == (2, 0.5, 0.25, 1.0)
    assert [type(value) for value in values] == [int, float, float, float]


def test_changes_are_checked_and_leave_the_settings_alone():
    config = Config(k=2)
    assert config.checked(k=3).k == 3
    assert config.k == 2
    with refuses("k", -1):
        config.checked(k=-1)


@pytest.mark.parametrize(("warmup", "epochs", "expected"), [(3, 100, 3), (3, 11, 2), (3, 3, 0), (0, 100, 0)])
def test_the_warm_up_is_at_most_a_quarter_of_all_epochs(warmup, epochs, expected):
    assert Config(warmup=warmup).warmup_epochs(epochs) == expected


# The estimator


@pytest.mark.parametrize(
    ("num_edges", "max_steps", "epochs"),
    [
        (19_999, "auto", 40),
        (20_000, "auto", 32),
        (99_999, "auto", 32),
        (100_000, "auto", 16),
        (10, 900, 9),
        (10, 100, 5),
        (10, None, 40),
    ],
)
def test_where_an_epoch_has_100_steps_there_are_fewer_epochs(num_edges, max_steps, epochs):
    assert Config(max_steps=max_steps).checked().num_epochs(100, num_edges) == epochs


def test_the_estimator_documents_all_its_parameters():
    assert len(PARAMETERS) == 26
    text = inspect.getdoc(LinkPredictor)
    section = text[text.index("Parameters\n----------\n") : text.index("Examples\n--------\n")]
    assert "{parameters}" not in text
    documented = [line.split(" : ")[0] for line in section.splitlines()[2:] if line and not line.startswith(" ")]
    assert documented == PARAMETERS
    for name, setting in SETTINGS.items():
        assert f"default {setting.default!r}\n    {setting.text}" in section, name


def test_help_shows_the_parameters():
    import pydoc

    shown = pydoc.plain(pydoc.render_doc(LinkPredictor))
    for name in PARAMETERS:
        assert f"{name} : " in shown


def test_the_estimator_has_the_manners_of_scikit_learn():
    assert sorted(LinkPredictor().get_params()) == sorted(PARAMETERS)
    given = {name: object() for name in PARAMETERS}  # the constructor stores, whatever it is given
    model = LinkPredictor(**given)
    assert all(getattr(model, name) is value for name, value in given.items())
    model = LinkPredictor(k=2, policy="exp3", policy_options={"rate": 0.5})
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert copy.set_params(k=3, patience=9) is copy
    assert (copy.k, copy.patience, model.k, model.patience) == (3, 9, 2, 20)
    assert "k=2" in repr(model)
    assert "epochs" not in repr(model)  # defaults are left out
    with refuses("learnt_nodes", error=ValueError):
        model.set_params(learnt_nodes=3)
    with refuses("learnt_nodes", error=TypeError):
        LinkPredictor(learnt_nodes=3)


def test_settings_from_a_grid_of_numpy(tmp_path):
    ends = np.random.default_rng(0).integers(0, 20, (2, 180))
    mx = banditplex.Multiplex.from_edges(*ends, np.repeat(["a", "b", "c"], 60), num_nodes=20, self_loops="drop")
    model = LinkPredictor(k=np.array([1, 2])[1], epochs=2, width=4, warmup=0).fit(mx)
    model.save(tmp_path)
    assert LinkPredictor.load(tmp_path).k == 2


# The shape of the code


def test_the_loop_can_be_read_at_one_sitting():
    assert len(Path(loop.__file__).read_text(encoding="utf-8").splitlines()) <= 200


def is_called_hide(node):
    """Say whether an expression is a variable, an attribute or an entry called hide."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "hide"
    return getattr(node, "id", getattr(node, "attr", None)) == "hide"


def has_text(node):
    """Say whether an expression is a text, or lists texts."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)


def comparisons_of_hide(code):
    """Return the lines that compare something called hide with a text."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(is_called_hide, sides)) and any(map(has_text, sides)):
                found.append(node.lineno)
        elif isinstance(node, ast.Match) and is_called_hide(node.subject):
            found.append(node.lineno)
    return found


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("hide == 'pair'", 1),
        ("'pair' != self.config.hide", 1),
        ("settings['hide'] in ('layer', 'pair')", 1),
        ("match model.hide:\n  case 'pair': pass", 1),
        ("hide is None or hide in HIDE", 0),
        ("Visibility(hide).hides_everywhere", 0),
    ],
)
def test_comparisons_of_hide_are_recognised(code, count):
    assert len(comparisons_of_hide(code)) == count


def test_only_one_module_knows_what_hide_means():
    places = {
        path.relative_to(SOURCE).as_posix(): lines
        for path in SOURCE.rglob("*.py")
        if (lines := comparisons_of_hide(path.read_text(encoding="utf-8")))
    }
    assert places.keys() == {"pairs/visibility.py"}


def test_no_layer_is_drawn_where_nothing_is():
    assert Config(k=0, policy="none").checked().k == 0
