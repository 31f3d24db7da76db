"""What a training starts from: the network, its policies, and the trainer that holds them together."""

import numpy as np
import torch

from banditplex.arrays import Ints
from banditplex.bandits import Policy, make_policy
from banditplex.bandits.arms import to_layer
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex
from banditplex.nn import MultiplexModel
from banditplex.nn.panels import Panels
from banditplex.nn.query import Query
from banditplex.nn.relevance import get_relevance
from banditplex.pairs.visibility import Visibility
from banditplex.rng import stream
from banditplex.training.config import AUTO, MANY_EDGES, SETTINGS, Config
from banditplex.training.data import TrainingData, count_examples, prepare
from banditplex.training.global_state import seeded
from banditplex.training.loop import Trainer

WIDTH = 16  # width of node embeddings, if "auto" has any
SMALL, LARGE = 8, 64  # hidden units of the heads, with few and with many edges
SAMPLE = 4096  # edges, and as many negatives, whose features give mean and scale of the network's inputs


def make_trainer(mx: Multiplex, targets: Ints, config: Config, *, panels: Panels | None = None) -> Trainer:
    """Return a trainer that has learnt nothing yet.

    Parameters: `targets` (T,), the indices of the layers in which links are predicted; `panels`, the layers pooled with
    each.
    """
    relevance = get_relevance(config.relevance)
    if relevance.is_free and not choose_width(config, mx):
        raise InputError(
            f"Expected width of at least 1, such as width=16, for relevance {relevance.name!r}, which compares node "
            "embeddings, got 0."
        )
    data = prepare(mx, targets, config, panels=panels)
    policy = make_policies(config, len(data.layer_names), len(targets))
    warmup = None
    if policy is not None and policy.learns:
        warmup = make_policy("uniform", num_arms=policy.num_arms, k=policy.k, num_instances=len(targets))
    return Trainer(data, config, relevance, make_network(data, config), policy, warmup)


def choose_width(config: Config, mx: Multiplex) -> int:
    """Return the width of node embeddings; "auto" has an encoder where something asks for one."""
    if config.width != AUTO:
        return int(config.width)
    asked = mx.node_features is not None or config.conv != SETTINGS["conv"].default
    return WIDTH if asked or get_relevance(config.relevance).is_free else 0


def choose_hidden_units(config: Config, num_examples: int) -> int:
    """Return the number of hidden units of the heads; "auto": more where targets have many edges."""
    if config.hidden_units != AUTO:
        return int(config.hidden_units)
    return SMALL if num_examples < MANY_EDGES else LARGE


def make_policies(config: Config, num_layers: int, num_targets: int) -> Policy | None:
    """Return a policy with one instance per target; None if there is no other layer."""
    if num_layers == 1:
        return None
    sizes = {"num_arms": num_layers - 1, "k": config.draw_size, "num_instances": num_targets}
    return make_policy(config.policy, **sizes, **(config.policy_options or {}))


def build_network(mx: Multiplex, targets: Ints, config: Config, visibility: Visibility) -> MultiplexModel:
    """Return the network for targets (T,) of a multiplex, not yet trained."""
    return MultiplexModel(
        num_nodes=mx.num_nodes, num_layers=mx.num_layers, visibility=visibility,
        num_node_features=0 if mx.node_features is None else mx.node_features.shape[1],
        width=choose_width(config, mx), depth=config.depth, conv=config.conv,
        hidden_units=choose_hidden_units(config, count_examples(mx, targets)),
    )  # fmt: skip


def make_network(data: TrainingData, config: Config) -> MultiplexModel:
    """Return the network of a training: random weights, the same in all processes; inputs of mean 0, deviation 1."""
    with seeded(config.seed, "weights", torch.device("cpu")):
        model = build_network(data.full_mx, data.targets, config, data.visibility).to(data.device)
    normalise(model, data, stream(config.seed, "normalise"))
    data.group.copy_first(model.state_dict().values())
    return model


def normalise(model: MultiplexModel, data: TrainingData, rng: np.random.Generator) -> None:
    """Take mean and scale of node features from all nodes, of structural features from a sample of pairs and layers."""
    if model.encoder is not None and data.train_view.features is not None:
        model.encoder.measure(data.train_view.features)
    num_layers, edges = len(data.layer_names), data.train_edges
    at = np.sort(rng.integers(0, len(edges), SAMPLE))
    instance = np.searchsorted(np.cumsum(edges.size), at, side="right")
    negatives = data.negatives.draw_tensor(torch.from_numpy(data.targets[instance]).to(data.device), rng)
    pairs = torch.cat([edges.pairs.index_select(0, torch.from_numpy(at).to(data.device)), negatives])
    target = np.tile(data.targets[instance], 2)
    layers = np.empty((len(target), 0), np.int64)
    if num_layers > 1:
        layers = to_layer(target, rng.integers(0, num_layers - 1, len(target)))[:, None]
    of_target, drawn = (torch.from_numpy(each).to(data.device) for each in (target, layers))
    own, other, _ = model.describe(data.train_view, Query(pairs, of_target, drawn))
    model.own.normalise(own.values)
    if num_layers > 1:
        model.other.normalise(other.values)
