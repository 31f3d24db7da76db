"""What a training learns from: graphs, edges and negatives, with a share of the edges held out for validation.

Validation edges are as unknown to the model as test edges will be. They are not in the graph that is trained on, and
negatives do not avoid them; otherwise they would show in the neighbourhoods of other pairs, and as pairs that are never
negatives. Predictions see all edges.
"""

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from banditplex.arrays import Bools, Ints
from banditplex.backend import ranges
from banditplex.backend.packing import EdgeTensors, contains, node_features
from banditplex.backend.random_numbers import BITS, new_seed, random_integers
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.nn.keys import pair_keys
from banditplex.nn.known import Known, look_up
from banditplex.nn.panels import Panels
from banditplex.nn.view import View
from banditplex.pairs.visibility import Visibility
from banditplex.rng import stream
from banditplex.training.batches import Examples, TargetEdges
from banditplex.training.config import Config
from banditplex.training.distributed import Group, current
from banditplex.training.negatives import DeviceNegatives

MOST_EXAMPLES = 1 << 20
"""Edges of all targets: with more there are neither panels, whose pools take much memory, nor a shared regression."""
MAX_VALIDATION = 1_000
"""Validation edges of a target: more would say little more, and are missed in the graph that is trained on."""
FEW_LAYERS = 8
"""Up to so many layers, features of validation pairs in all of them are computed once, not after each epoch."""
SPREAD = 6
"""Standard deviations by which pairs with small random numbers are more than the number to be chosen."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The graphs of a training, its edges and its negatives."""

    full_mx: Multiplex  # all that predictions see
    kept: Tensor  # (num_edges,) mask of the edges that training sees
    targets: Ints  # (T,) layer indices; target i has policy instance i
    visibility: Visibility
    device: torch.device
    train_edges: TargetEdges
    validation_edges: Examples
    negatives: DeviceNegatives  # draws negatives for training
    full_negatives: DeviceNegatives  # draws negatives that are no validation edges either
    validation_negatives: Ints  # (n, 2), one for each validation edge
    train_view: View  # the training graph on the device
    panels: Panels  # the layers that are pooled with each target
    group: Group = field(default_factory=current)  # the processes that train together

    @cached_property
    def mine(self) -> Bools | None:
        """Which targets (T,) this process scores; None: all."""
        return self.group.divide(self.train_edges.size)

    @cached_property
    def train_mx(self) -> Multiplex:
        """The multiplex without the validation edges, and what is hidden with them."""
        if not len(self.validation_edges):
            return self.full_mx
        return self.full_mx.keep_edges(self.kept.cpu().numpy())

    @cached_property
    def full_view(self) -> View:
        """The graph with the validation edges on the device."""
        if not len(self.validation_edges):
            return self.train_view
        edges = EdgeTensors.of(self.full_mx, self.device)
        return View.of(edges, self.visibility, self.panels, self.train_view.features)

    @cached_property
    def validation_pairs(self) -> Tensor:
        """Validation edges, then as many negatives, on the device, (n, 2)."""
        pairs = np.concatenate([self.validation_edges.pairs, self.validation_negatives])
        return torch.from_numpy(pairs).to(self.device)

    @cached_property
    def own_validation(self) -> Ints:
        """The places (m,) of the validation pairs that this process scores."""
        instance = np.tile(self.validation_edges.instance, 2)
        return np.arange(len(instance)) if self.mine is None else np.flatnonzero(self.mine[instance])

    @cached_property
    def validation_known(self) -> Known:
        """What is known, in the training graph, of the validation pairs that this process scores."""
        at = self.own_validation
        target = torch.from_numpy(self.targets[np.tile(self.validation_edges.instance, 2)[at]]).to(self.device)
        pairs = self.validation_pairs.index_select(0, torch.from_numpy(at).to(self.device))
        return look_up(self.train_view, pairs, target, others=len(self.layer_names) <= FEW_LAYERS)

    @property
    def num_examples(self) -> int:
        """The number of edges of the targets."""
        return count_examples(self.full_mx, self.targets)

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


def prepare(mx: Multiplex, targets: Ints, config: Config, *, panels: Panels | None = None) -> TrainingData:
    """Hold out validation edges; `panels` are the layers pooled with each target, None: there are none."""
    panels = panels or Panels.none(targets.tolist())
    visibility = config.visibility(mx, panels)
    device = choose_device(config.device)
    edges = EdgeTensors.of(mx, device)
    examples, at, kept = hold_out(edges, targets, config, visibility)
    train, shown = examples, edges
    if config.validation:
        train, shown = examples.take(others(at, len(examples.pairs))), edges.keep(kept)
    validation = examples.take(at).to_host()
    layer, rng = targets[validation.instance], stream(config.seed, "validation negatives")
    only_host = mx.node_types is not None
    of_all = cache(lambda: visibility.negative_sampler(mx))
    of_shown = cache(lambda: visibility.negative_sampler(data.train_mx, links_of=mx))
    sampler = full = DeviceNegatives(edges, visibility, of_all, only_host=only_host)
    if len(layer):
        sampler = DeviceNegatives(shown, visibility, of_shown, only_host=only_host)
    drawn, view = full.draw(layer, rng), View.of(shown, visibility, panels, node_features(mx, device))
    data = TrainingData(mx, kept, targets, visibility, device, train, validation, sampler, full, drawn, view, panels)
    return data


class HeldOutEdges(NamedTuple):
    """Which edges are held out for validation."""

    examples: TargetEdges  # all edges of the targets
    at: Tensor  # (n,): the places of validation edges among them
    kept: Tensor  # (E,): which of all edges are seen without them


def hold_out(edges: EdgeTensors, targets: Ints, config: Config, visibility: Visibility) -> HeldOutEdges:
    """Choose validation edges of targets (T,), by the seed of the settings."""
    examples, position = edges_of(edges, targets)
    at = divide(examples, config.validation, visibility, edges.num_nodes, stream(config.seed, "validation"))
    return HeldOutEdges(examples, at, visible_edges(edges, position.index_select(0, at), visibility))


def count_examples(mx: Multiplex, targets: Ints) -> int:
    """Return the number of edges of target layers (T,): what there is to learn from, which sizes depend on."""
    return int(mx.layer_sizes[targets].sum())


def edges_of(edges: EdgeTensors, targets: Ints) -> tuple[TargetEdges, Tensor]:
    """Return all edges of the target layers, without self loops, and their positions (E,) among all edges."""
    device = edges.layer.device
    sizes = torch.bincount(edges.layer, minlength=edges.num_layers)
    at = torch.from_numpy(targets).to(device)
    size, start = sizes[at], (torch.cumsum(sizes, 0) - sizes)[at]
    instance, position = ranges(start, size)
    if not np.array_equal(targets, np.arange(edges.num_layers)):
        edges = edges.take(position)
    pairs, loop = torch.stack([edges.source, edges.destination], 1), edges.is_loop
    found = TargetEdges(size.cpu().numpy(), instance, pairs)
    if not bool(loop.any()):
        return found, position
    kept = torch.nonzero(~loop).squeeze(1)
    return found.take(kept), position.index_select(0, kept)


def divide(
    examples: TargetEdges, share: float, visibility: Visibility, num_nodes: int, rng: np.random.Generator
) -> Tensor:
    """Choose validation edges at random, and return their places, sorted; edges that are hidden together stay together.

    The share is that of each target's pairs or, if pairs are hidden everywhere, of all pairs; it is rounded down, and
    large targets hold out `MAX_VALIDATION` pairs. A target that would lose more than twice the share of its edges, or
    all of them, keeps them.

    Each pair has a random number, a hash of its key; those with the least numbers are chosen. To find them, only pairs
    with small numbers are sorted.
    """
    instance, (source, destination) = examples.instance, examples.pairs.unbind(1)
    key, seed = pair_keys(instance, source, destination, num_nodes, visibility), new_seed(rng)
    size = examples.size
    if visibility.hides_everywhere:
        every = torch.unique(key)
        count = np.minimum(np.floor(share * len(every)), MAX_VALIDATION * np.count_nonzero(size)).astype(np.int64)
        first = least(random_integers(every, seed), torch.zeros_like(every), np.array([len(every)]), count[None])
        at = torch.nonzero(contains(every[first], key)).squeeze(1)
    else:
        if visibility.hides_together:
            size = torch.bincount(torch.unique(key) // num_nodes**2, minlength=len(size)).cpu().numpy()
        count = np.minimum(np.floor(share * size), MAX_VALIDATION).astype(np.int64)
        at = least(random_integers(key, seed), instance, size, count)
    held = torch.bincount(instance.index_select(0, at), minlength=len(examples.size)).cpu().numpy()
    short = examples.size - held < np.maximum(1, (1 - 2 * share) * examples.size)
    lost = torch.from_numpy(short).to(at.device)[instance.index_select(0, at)]
    chosen = key.index_select(0, at)
    return at[~torch.isin(chosen, chosen[lost])]


def least(number: Tensor, group: Tensor, size: Ints, count: Ints) -> Tensor:
    """Return the places of the `count` (G,) least distinct numbers of each group, sorted.

    `number` (n,), below 2**62, is of group `group` (n,), which has `size` (G,) distinct numbers; a number may come
    several times, and then all its places are returned.
    """
    for spread in (SPREAD, None):  # if that was not enough, all are sorted
        more = size.max(initial=0) if spread is None else spread * np.sqrt(count) + spread
        bound = np.minimum((count + more) / np.maximum(size, 1), 1) * (count > 0)
        limit = torch.from_numpy((bound * 2.0**BITS).astype(np.int64)).to(number.device)
        at = torch.nonzero(number < limit.index_select(0, group)).squeeze(1)
        values, order = torch.sort(number.index_select(0, at), stable=True)
        groups, again = torch.sort(group.index_select(0, at)[order], stable=True)
        at, values = at[order[again]], values[again]
        new = torch.ones_like(at, dtype=torch.bool)
        new[1:] = (values[1:] != values[:-1]) | (groups[1:] != groups[:-1])
        found = torch.bincount(groups[new], minlength=len(size))
        if bool((found.cpu() >= torch.from_numpy(count)).all()):
            break
    rank = torch.cumsum(new, 0) - 1 - (torch.cumsum(found, 0) - found)[groups]
    wanted = rank < torch.from_numpy(count).to(number.device)[groups]
    return torch.sort(at[wanted]).values


def others(at: Tensor, size: int) -> Tensor:
    """Return the places from 0 to size - 1 that are not in `at` (n,)."""
    rest = torch.ones(size, dtype=torch.bool, device=at.device)
    rest[at] = False
    return torch.nonzero(rest).squeeze(1)


def visible_edges(edges: EdgeTensors, held_out: Tensor, visibility: Visibility) -> Tensor:
    """Mark the edges (E,) that are seen when those at positions `held_out` (n,) are hidden."""
    if not visibility.hides_everywhere:
        seen = torch.ones_like(edges.layer, dtype=torch.bool)
        seen[held_out] = False
        return seen
    keys = pair_keys(edges.layer, edges.source, edges.destination, edges.num_nodes, visibility)
    return ~contains(torch.sort(keys.index_select(0, held_out)).values, keys)


def choose_device(device: str) -> torch.device:
    """Return the device of a name; "auto" is CUDA where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.zeros(1, device=device)
        found.tolist()  # "meta" is a device, but holds no numbers
        return found.device
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"Expected device to be 'auto', 'cpu' or a device of this machine, got {device!r}.") from error
