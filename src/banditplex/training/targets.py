"""Targets and policies that were asked for, checked against the data: what is refused before training."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from banditplex.bandits import POLICIES
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.known import edge_parts
from banditplex.pairs.visibility import Visibility
from banditplex.terminal import warn
from banditplex.training.config import Config
from banditplex.training.layer_options import resolve_layer_options

Ints = NDArray[np.int64]


def resolve_policy(config: Config, mx: Multiplex, targets: Ints) -> Config:
    """Return settings with arms in place of layer names in the options of the policy; refuse a k out of range."""
    others = mx.num_layers - 1
    if others and POLICIES[config.policy].takes_k and not 1 <= config.draw_size <= others:
        raise InputError(f"Expected k from 1 to {others}, the number of other layers, got {config.k}.")
    options = resolve_layer_options(mx, targets, config.policy, config.policy_options or {})
    return replace(config, policy_options=options)


def check_targets(mx: Multiplex, targets: Sequence[Name] | None, visibility: Visibility) -> Ints:
    """Return the layer indices of targets (None: of all layers that can be); refuse what cannot be learnt from."""
    empty = num_edges(mx) == 0
    if targets is not None:
        if isinstance(targets, str) or not isinstance(targets, Iterable):
            raise InputError(f"Expected a list of layer names as targets, got {targets!r}.")
        chosen = np.array([mx.layer_index(name) for name in targets], np.int64)
        if len(np.unique(chosen)) != len(chosen) or not len(chosen):
            raise InputError(f"Expected distinct target layers, at least one, got {list(targets)!r}.")
        if empty[chosen].all():
            name = mx.layer_names[chosen[0]]
            raise InputError(f"Expected a target layer with an edge to learn from, got none in {name!r}.")
        which = "no edges have nothing to learn from; other targets teach the weights that predict them"
        _warn_of(mx, chosen[empty[chosen]], which)
        return chosen
    if empty.all():
        raise InputError("Expected a layer with an edge to learn from, got none.")
    full = _complete(mx, visibility) & ~empty
    if (empty | full).all():
        raise InputError("Expected a layer with a pair of nodes that has no edge, got complete layers only.")
    _warn_of(mx, np.flatnonzero(empty), "no edges are not used as targets")
    _warn_of(mx, np.flatnonzero(full), "no pair without an edge are not used as targets")
    return np.flatnonzero(~(empty | full))


def num_edges(mx: Multiplex) -> Ints:
    """Return the number of edges of each layer, without self loops."""
    count = np.zeros(mx.num_layers, np.int64)
    for layer, (source, destination) in edge_parts(mx):
        count += np.bincount(layer[source != destination], minlength=mx.num_layers)
    return count


def _complete(mx: Multiplex, visibility: Visibility) -> NDArray[np.bool_]:
    """Return which layers have no negatives."""
    most = mx.num_edges if visibility.hides_everywhere else num_edges(mx).max(initial=0)
    if mx.node_types is None and 2 * most < mx.num_nodes * (mx.num_nodes - 1):  # so few leave a pair without an edge
        return np.zeros(mx.num_layers, np.bool_)
    complete: NDArray[np.bool_] = visibility.negative_pairs(mx).num_free() == 0
    return complete


def _warn_of(mx: Multiplex, layers: Ints, which: str) -> None:
    names = ", ".join(repr(mx.layer_names[layer]) for layer in layers[:5].tolist())
    if names:
        warn(f"Layers with {which}: {names}{', ...' if len(layers) > 5 else ''}.")
