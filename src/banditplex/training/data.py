"""What a training learns from: graphs, edges and negatives, with a share of the edges held out for validation.

Validation edges are as unknown to the model as test edges will be. They are not in the graph that is trained on, and
negatives do not avoid them; otherwise they would show in the neighbourhoods of other pairs, and as pairs that are never
negatives. Predictions see all edges.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.nn import PackedGraph
from banditplex.nn.evidence import pack
from banditplex.nn.known import Known, look_up
from banditplex.pairs.negatives import GivenNegatives, NegativeSampler
from banditplex.pairs.visibility import Visibility
from banditplex.rng import random_ranks, stream
from banditplex.training.batches import Examples
from banditplex.training.config import Config

Ints = NDArray[np.int64]
MAX_VALIDATION = 1_000
"""Validation edges of a target: more would say little more, and are missed in the graph that is trained on."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The graphs of a training, its edges and its negatives."""

    full_mx: Multiplex  # all that predictions see
    train_mx: Multiplex  # without the validation edges, and what is hidden with them
    targets: Ints  # (T,) layer indices; target i has policy instance i
    visibility: Visibility
    device: torch.device
    train_edges: Examples
    validation_edges: Examples
    negatives: NegativeSampler | GivenNegatives  # draws negatives for training
    validation_negatives: Ints  # (n, 2), one for each validation edge

    @cached_property
    def train_graph(self) -> PackedGraph:
        """The training graph on the device."""
        return pack(self.train_mx, self.device, self.visibility)

    @cached_property
    def full_graph(self) -> PackedGraph:
        """The graph with the validation edges on the device."""
        if self.train_mx is self.full_mx:
            return self.train_graph
        return pack(self.full_mx, self.device, self.visibility)

    @cached_property
    def node_features(self) -> Tensor | None:
        """Node features (num_nodes, F) on the device, if there are any."""
        return node_features(self.full_mx, self.device)

    @cached_property
    def validation_pairs(self) -> Tensor:
        """Validation edges, then as many negatives, on the device, (n, 2)."""
        pairs = np.concatenate([self.validation_edges.pairs, self.validation_negatives])
        return torch.from_numpy(pairs).to(self.device)

    @cached_property
    def validation_known(self) -> Known:
        """What is known of the validation pairs in the training graph."""
        target = torch.from_numpy(self.targets[np.tile(self.validation_edges.instance, 2)]).to(self.device)
        return look_up(self.train_graph, self.validation_pairs, target, self.visibility)

    @property
    def layer_names(self) -> tuple[Name, ...]:
        """The names of all layers."""
        return self.full_mx.layer_names

    @cached_property
    def instance_of(self) -> Ints:
        """The policy instance of each layer, (num_layers,); -1 for layers that are not targets."""
        instances = np.full(len(self.layer_names), -1, np.int64)
        instances[self.targets] = np.arange(len(self.targets))
        return instances


def prepare(
    mx: Multiplex, targets: Ints, config: Config, *, negatives: Mapping[int, Ints] | None = None
) -> TrainingData:
    """Hold out validation edges and make negatives ready.

    `negatives`, pairs (n, 2) per layer index, are used instead of negatives that are drawn at random.
    """
    visibility = Visibility.of_training(config.hide, mx, evidence=config.sees_all)
    train, held_out = divide(edges_of(mx, targets), config.validation, visibility, stream(config.seed, "validation"))
    keep = np.ones(mx.num_edges, np.bool_)
    keep[visibility.hidden_edges(mx, held_out.position)] = False
    train_mx = mx if keep.all() else mx.keep_edges(keep)
    layer, rng = targets[held_out.instance], stream(config.seed, "validation negatives")
    sampler: NegativeSampler | GivenNegatives
    if negatives is None:
        nodes = config.negative_nodes
        sampler = visibility.negative_sampler(train_mx, nodes, links_of=mx)
        of_validation = sampler if train_mx is mx else visibility.negative_sampler(mx, nodes)
        drawn = of_validation.draw(layer, rng)
    else:
        parts = divide_given(negatives, config.validation, rng) if len(layer) else (negatives, negatives)
        sampler, given = (GivenNegatives(part, mx.num_layers) for part in parts)
        drawn = given.draw(layer, rng)
    device = choose_device(config.device)
    return TrainingData(mx, train_mx, targets, visibility, device, train, held_out, sampler, drawn)


def edges_of(mx: Multiplex, targets: Ints) -> Examples:
    """Return all edges of the target layers, without self loops."""
    size = mx.layer_sizes[targets]
    instance = np.repeat(np.arange(len(targets)), size)
    position = np.arange(len(instance)) + np.repeat(mx.layer_offsets[targets] - (np.cumsum(size) - size), size)
    pairs = mx.edge_index[:, position].T
    keep = pairs[:, 0] != pairs[:, 1]
    return Examples(instance[keep], np.ascontiguousarray(pairs[keep]), position[keep])


def divide(
    examples: Examples, share: float, visibility: Visibility, rng: np.random.Generator
) -> tuple[Examples, Examples]:
    """Divide at random into training and validation edges; edges that are hidden together stay together.

    The share is that of each target's pairs or, if pairs are hidden everywhere, of all pairs; it is rounded down, and
    large targets hold out `MAX_VALIDATION` pairs. A
    target that would lose more than twice the share of its edges, or all of them, keeps them.
    """
    num_nodes = int(examples.pairs.max(initial=0)) + 1
    keys = visibility.keys(examples.instance, examples.pairs, num_nodes)
    unit, which = np.unique(keys, return_inverse=True)
    group = unit // num_nodes**2
    rank, size = random_ranks(group, rng)
    most = MAX_VALIDATION * (len(np.unique(examples.instance)) if visibility.hides_everywhere else 1)
    chosen = rank < np.minimum(np.floor(share * size), most)[group]
    left, size = np.bincount(examples.instance, ~chosen[which]), np.bincount(examples.instance)
    short = left < np.maximum(1, (1 - 2 * share) * size)
    chosen[which[short[examples.instance]]] = False
    held_out = chosen[which]
    return examples.take(~held_out), examples.take(held_out)


def divide_given(
    negatives: Mapping[int, Ints], share: float, rng: np.random.Generator
) -> tuple[dict[int, Ints], dict[int, Ints]]:
    """Divide lists of pairs (n, 2) at random into training and validation, at least one each.

    A list of one pair is used for both.
    """
    train, validation = {}, {}
    for layer, pairs in negatives.items():
        mixed = rng.permutation(pairs)
        count = min(max(1, int(share * len(pairs))), len(pairs) - 1)
        train[layer], validation[layer] = mixed[count:], mixed[:count] if count else mixed
    return train, validation


def node_features(mx: Multiplex, device: torch.device) -> Tensor | None:
    """Return node features as a float tensor on a device."""
    if mx.node_features is None:
        return None
    return torch.from_numpy(np.array(mx.node_features, dtype=np.float32)).to(device)


def choose_device(device: str) -> torch.device:
    """Return the device of a name; "auto" is CUDA where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"Expected device to be 'auto', 'cpu' or a device of this machine, got {device!r}.") from error
