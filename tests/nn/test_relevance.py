"""Layer losses by hand."""

import math

import pytest
import torch

from banditplex.errors import InputError
from banditplex.nn.relevance import Seen, cosine, euclidean, get_relevance, layer_losses, predictive

NONE = torch.zeros(0)


def nodes(group, target, layer):
    rows = torch.tensor(target), torch.tensor(layer)
    return Seen(max(group) + 1, NONE.long(), NONE, NONE, NONE, torch.tensor(group), *rows)


def pairs(group, label, own, other):
    columns = (torch.tensor(column, dtype=torch.float) for column in (label, own, other))
    return Seen(max(group) + 1, torch.tensor(group), *columns, NONE.long(), NONE.view(0, 0), NONE.view(0, 0))


def test_euclidean_is_the_root_mean_square_distance_of_each_comparison():
    seen = nodes([0, 0, 1], [[3.0, 4.0], [1.0, 1.0], [0.0, 2.0]], [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    assert euclidean(seen).tolist() == pytest.approx([math.sqrt(25 / 2), 2.0])


def test_cosine_is_the_mean_of_one_minus_cos_and_a_zero_vector_gives_one():
    seen = nodes(
        [0, 0, 0, 1],
        [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [2.0, 2.0]],
        [[2.0, 0.0], [-3.0, 0.0], [0.0, 0.0], [0.0, 5.0]],
    )
    assert cosine(seen).tolist() == pytest.approx([(0 + 2 + 1) / 3, 1 - math.sqrt(0.5)])


def test_predictive_is_the_link_loss_with_the_layer_over_that_without():
    def bce(label, logit):
        return math.log1p(math.exp(-logit if label else logit))

    seen = pairs([0, 0, 1, 1], [1, 0, 1, 0], [0.5, -0.5, 0.0, 0.0], [1.0, -1.0, -2.0, 0.0])
    first = (bce(1, 1.5) + bce(0, -1.5)) / (bce(1, 0.5) + bce(0, -0.5))
    second = (bce(1, -2.0) + bce(0, 0.0)) / (2 * math.log(2))
    assert predictive(seen).tolist() == pytest.approx([first, second])


@pytest.mark.parametrize("bad", [-0.5, math.nan, math.inf])
def test_what_is_no_layer_loss_is_refused_with_the_name_of_the_relevance(bad):
    def my_relevance(seen):
        return torch.full((seen.num_groups,), bad)

    with pytest.raises(InputError, match=f"from relevance 'my_relevance', got {bad}"):
        layer_losses(my_relevance, pairs([0], [1], [0], [0]))


def test_a_wrong_shape_is_refused_with_the_name_of_the_relevance():
    with pytest.raises(InputError, match=r"'<lambda>' to return a tensor of shape \(1,\), got \(3,\)"):
        layer_losses(lambda seen: torch.zeros(3), pairs([0], [1], [0], [0]))
    with pytest.raises(InputError, match="got float"):
        layer_losses(lambda seen: 1.0, pairs([0], [1], [0], [0]))


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(InputError, match="did you mean 'cosine'"):
        get_relevance("cosin")
