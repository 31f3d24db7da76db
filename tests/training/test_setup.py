"""What a training starts from: the network, its policies and the warm-up."""

import warnings

import numpy as np
import pytest
import torch

from banditplex.multiplex import Multiplex
from banditplex.nn import MultiplexModel
from banditplex.nn.relevance import Relevance, euclidean
from banditplex.training import setup
from banditplex.training.config import EVIDENCE, Config
from banditplex.training.setup import make_policies
from banditplex.training.targets import check_task
from tests.nn.test_graph import random_multiplex
from tests.refusals import refuses
from tests.training.test_loop import random_layers, trainer_of


@pytest.mark.parametrize("relevance", ["euclidean", Relevance(euclidean.function, needs={"embeddings"})])
def test_layer_losses_of_embeddings_need_embeddings(relevance):
    with refuses("width", "'euclidean'", 0):
        trainer_of(random_layers(0, copied=False), relevance=relevance, width=0)


def test_a_plain_function_is_trained_with_even_where_there_are_no_embeddings():
    widths = set()

    def mine(batch):
        widths.add(batch.target_embedding.shape)
        return torch.ones(batch.num_groups)

    trainer_of(random_layers(0, copied=False), relevance=mine, width=0, warmup=0).run_epoch()
    assert widths == {(0, 0)}


@pytest.mark.parametrize(("policy", "learns"), [("default", True), ("exp3+", True), ("uniform", False), ("all", False)])
def test_policies_that_learn_are_warmed_up_by_uniform_draws(policy, learns):
    trainer = trainer_of(random_multiplex(0), policy=policy, warmup=3, epochs=100)
    assert (trainer.warmup_policy is not None, trainer.warmup_epochs) == (learns, 3 if learns else 0)
    if learns:
        assert trainer.warmup_policy.inclusion() == pytest.approx(np.full((3, 2), 0.5))


def test_every_other_layer_is_an_arm_and_one_layer_has_no_policy():
    assert make_policies(Config().checked(), 1, 1) is None
    assert make_policies(Config().checked(), 4, 2).inclusion().shape == (2, 3)
    assert trainer_of(random_multiplex(0)).policy.num_arms == 2


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_inputs_of_the_network_have_mean_0_and_deviation_1_on_a_sample(evidence, monkeypatch):
    seen, describe = [], MultiplexModel.describe
    monkeypatch.setattr(MultiplexModel, "describe", lambda *words: seen.append(describe(*words)) or seen[-1])
    model = trainer_of(random_multiplex(3, num_edges=80), evidence=evidence).model
    ((own, other, _),) = seen
    assert len(own.values) == len(other.values) == 2 * setup.SAMPLE
    for head, values in ((model.own, own.values), (model.other, other.values)):
        inputs = ((values - head.mean) / head.scale).double()
        constant = values.std(0) < 0.02
        torch.testing.assert_close(inputs.mean(0), torch.zeros(inputs.shape[1]).double(), atol=1e-3, rtol=0)
        torch.testing.assert_close(inputs.std(0)[~constant], torch.ones((~constant).sum()).double(), atol=1e-3, rtol=0)


def test_the_moving_average_starts_at_the_weights_and_is_a_copy():
    trainer = trainer_of(random_layers(0, copied=False), width=4)
    for weight, average in zip(trainer.model.parameters(), trainer.ema_model.parameters(), strict=True):
        assert torch.equal(weight, average)
        assert weight.data_ptr() != average.data_ptr()


def test_making_a_trainer_leaves_torchs_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    trainer_of(random_layers(0, copied=False))
    assert torch.equal(torch.rand(3), expected)


def test_negatives_of_a_dense_multiplex_are_told():
    """Every pair of three nodes is linked in some layer: two of three in a and b, one in c."""
    mx = Multiplex.from_edges([0, 1, 0, 0, 1], [1, 2, 2, 1, 2], [*"aabbc"], num_nodes=3)
    few = r"Nearly all pairs of nodes are linked.* 2 of 3 targets .*: 'a' \(1\), 'b' \(1\)\."
    with pytest.warns(UserWarning, match=few):
        check_task(mx, None, Config(hide="pair").checked())
    with pytest.warns(UserWarning, match="Nearly all") as told:
        check_task(mx, ["c"], Config(hide="pair").checked())
    assert "fewer" not in str(told[0].message)
    with warnings.catch_warnings(action="error"):
        check_task(mx, None, Config(hide="layer").checked())


def test_heads_are_larger_from_many_edges_on():
    sizes = [setup.choose_hidden_units(Config(), setup.MANY_EDGES + more) for more in (-1, 0, 1)]
    assert sizes == [setup.SMALL, setup.LARGE, setup.LARGE]
    assert setup.choose_hidden_units(Config(hidden_units=5), 10) == 5
