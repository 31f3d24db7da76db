"""Layer losses by hand, and what a relevance declares about itself."""

import math
import pickle
from dataclasses import replace

import pytest
import torch

from banditplex.nn.relevance import (
    NEEDS,
    RELEVANCES,
    Relevance,
    RelevanceBatch,
    cosine,
    euclidean,
    get_relevance,
    predictive,
)
from tests.refusals import refuses

NONE = torch.zeros(0)


def nodes(group, target, layer):
    rows = torch.tensor(target), torch.tensor(layer)
    return RelevanceBatch(max(group) + 1, NONE.long(), NONE, NONE, NONE, torch.tensor(group), *rows)


def pairs(group, label, own, other):
    columns = (torch.tensor(column, dtype=torch.float) for column in (label, own, other))
    return RelevanceBatch(max(group) + 1, torch.tensor(group), *columns, NONE.long(), NONE.view(0, 0), NONE.view(0, 0))


ONE_PAIR = pairs([0], [1], [0], [0])


# The layer losses that have a name


def test_euclidean_is_the_root_mean_square_distance_of_each_comparison():
    batch = nodes([0, 0, 1], [[3.0, 4.0], [1.0, 1.0], [0.0, 2.0]], [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    assert euclidean(batch).tolist() == pytest.approx([math.sqrt(25 / 2), 2.0])


def test_cosine_is_the_mean_of_one_minus_cos_and_a_zero_vector_gives_one():
    batch = nodes(
        [0, 0, 0, 1],
        [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [2.0, 2.0]],
        [[2.0, 0.0], [-3.0, 0.0], [0.0, 0.0], [0.0, 5.0]],
    )
    assert cosine(batch).tolist() == pytest.approx([(0 + 2 + 1) / 3, 1 - math.sqrt(0.5)])


def test_predictive_is_the_link_loss_with_the_layer_over_that_without():
    def bce(label, logit):
        return math.log1p(math.exp(-logit if label else logit))

    batch = pairs([0, 0, 1, 1], [1, 0, 1, 0], [0.5, -0.5, 0.0, 0.0], [1.0, -1.0, -2.0, 0.0])
    first = (bce(1, 1.5) + bce(0, -1.5)) / (bce(1, 0.5) + bce(0, -0.5))
    second = (bce(1, -2.0) + bce(0, 0.0)) / (2 * math.log(2))
    assert predictive(batch).tolist() == pytest.approx([first, second])


# What a relevance needs


def test_named_relevances_need_one_kind_of_input_and_embeddings_alone_are_free():
    assert {name: (set(each.needs), each.is_free, each.symmetric) for name, each in RELEVANCES.items()} == {
        "predictive": ({"logits"}, False, False),
        "euclidean": ({"embeddings"}, True, True),
        "cosine": ({"embeddings"}, True, True),
    }


@pytest.mark.parametrize("needs", [["embeddings"], ("embeddings", "embeddings"), {"embeddings"}, {"embeddings": 1}])
def test_needs_are_a_set_however_they_are_given(needs):
    relevance = Relevance(euclidean.function, needs=needs)
    assert relevance.needs == frozenset({"embeddings"})
    assert relevance.is_free
    assert relevance == Relevance(euclidean.function, needs=frozenset({"embeddings"}))


def test_both_needs_are_not_free_whatever_their_order():
    for needs in (["logits", "embeddings"], ["embeddings", "logits"]):
        assert Relevance(euclidean.function, needs=needs).needs == NEEDS
        assert not Relevance(euclidean.function, needs=needs).is_free


@pytest.mark.parametrize("needs", ["logits", [], {"embedding"}, ["logits", "labels"]])
def test_needs_that_do_not_exist_are_refused(needs):
    with refuses("needs", *sorted(NEEDS), repr(needs)):
        Relevance(euclidean.function, needs=needs)


def test_what_is_no_function_is_refused():
    with refuses("function", 3):
        Relevance(3)


def test_a_wrapped_relevance_keeps_its_needs_and_so_its_free_observations():
    def halved(batch):
        return euclidean(batch) / 2

    wrapped = replace(euclidean, function=halved)
    assert (wrapped.needs, wrapped.is_free, wrapped.symmetric) == (euclidean.needs, True, True)
    assert wrapped.name == "halved"
    assert wrapped.losses(nodes([0], [[3.0, 4.0]], [[0.0, 0.0]])).tolist() == [2.5]
    assert get_relevance(wrapped) is wrapped


def test_a_plain_function_gets_both_kinds_of_input_and_no_free_observations():
    def mine(batch):
        return torch.ones(batch.num_groups)

    found = get_relevance(mine)
    assert (found.function, found.needs, found.is_free, found.symmetric) == (mine, NEEDS, False, False)


def test_a_relevance_is_called_what_its_function_is_called():
    class Mine:
        def __call__(self, batch):
            return torch.ones(batch.num_groups)

    assert [Relevance(each).name for each in (Mine(), lambda batch: batch)] == ["Mine", "<lambda>"]


def test_named_relevances_are_called_by_the_name_that_finds_them():
    assert [each.name for each in RELEVANCES.values()] == list(RELEVANCES)
    for each in RELEVANCES.values():
        assert pickle.loads(pickle.dumps(each)) == each  # as processes that evaluate need it


# What a relevance returns


def test_losses_are_numbers_of_64_bits_without_gradient():
    losses = Relevance(lambda batch: batch.own.exp().requires_grad_()).losses(ONE_PAIR)
    assert losses.tolist() == [1.0]
    assert losses.dtype == torch.float64
    assert not losses.requires_grad


@pytest.mark.parametrize("bad", [-0.5, math.nan, math.inf])
def test_what_is_no_layer_loss_is_refused_with_the_name_of_the_relevance(bad):
    def my_relevance(batch):
        return torch.full((batch.num_groups,), bad)

    with refuses("'my_relevance'", bad):
        get_relevance(my_relevance).losses(ONE_PAIR)


def test_a_wrong_shape_is_refused_with_the_name_of_the_relevance():
    with refuses("'<lambda>'", (1,), (3,)):
        get_relevance(lambda batch: torch.zeros(3)).losses(ONE_PAIR)
    with refuses("'<lambda>'", "float"):
        get_relevance(lambda batch: 1.0).losses(ONE_PAIR)


def test_a_training_that_has_diverged_is_not_the_fault_of_the_relevance():
    with refuses("learning_rate") as caught:
        predictive.losses(pairs([0], [1], [math.nan], [0]))
    assert predictive.name not in str(caught.value)


def test_unknown_names_are_answered_with_the_known_ones():
    with refuses("'cosin'", "'cosine'", *RELEVANCES):
        get_relevance("cosin")
