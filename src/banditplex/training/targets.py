"""Targets and policies that were asked for, checked against the data: what is refused before training."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from banditplex.arrays import Bools, Ints
from banditplex.bandits import POLICIES
from banditplex.bandits.arms import to_arm
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.multiplex.notes import show_names
from banditplex.pairs.visibility import Visibility
from banditplex.terminal import warn
from banditplex.training.config import Config


def check_task(mx: Multiplex, targets: Sequence[Name] | None, config: Config) -> tuple[Ints, Config]:
    """Return targets (T,) and settings in terms of indices; refuse what cannot be learnt from."""
    visibility = config.visibility(mx)
    chosen = check_targets(mx, targets, visibility)
    if visibility.dense:
        _tell_scarce(mx, chosen, visibility)
    others = mx.num_layers - 1
    if others and POLICIES[config.policy].takes_k and not 1 <= config.draw_size <= others:
        none = "; policy 'none' looks at no other layer" * (config.k == 0)
        raise InputError(f"Expected k from 1 to {others}, the number of other layers, got {config.k}{none}.")
    options = resolve_layer_options(mx, chosen, config.policy, config.policy_options or {})
    return chosen, replace(config, policy_options=options)


def resolve_layer_options(mx: Multiplex, targets: Ints, policy: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a policy with arms of each target in place of layers.

    Options that are arm indices (`fixed`: `arms`) are given as `layers`, the names of layers to draw for every target;
    a target itself is left out. Options with a value per arm (`cost-aware`: `prices`) are given by layer name, and
    other layers get 1; if they are not given, the value of a layer is its number of edges.
    """
    resolved = dict(options)
    names = mx.layer_names
    if len(names) == 1:
        return resolved
    for option, kind in POLICIES[policy].arm_options.items():
        if kind == "indices" and option not in options:
            resolved[option] = _arms_of(mx, targets, policy, resolved.pop("layers", None) or ())
        elif kind == "values" and isinstance(options.get(option, {}), Mapping):
            values = np.maximum(mx.layer_sizes, 1.0) if option not in options else np.ones(len(names))
            for name, value in options.get(option, {}).items():
                if not isinstance(value, int | float | np.number) or isinstance(value, bool):
                    raise InputError(f"Expected a number for {name!r} in {option}=, got {value!r}.")
                values[mx.layer_index(name)] = value
            resolved[option] = [np.delete(values, target).tolist() for target in targets]
    return resolved


def _arms_of(mx: Multiplex, targets: Ints, policy: str, layers: Sequence[Name]) -> list[list[int]]:
    if isinstance(layers, str) or not isinstance(layers, Sequence | np.ndarray) or not len(layers):
        found, example = "none" if layers == () else repr(layers), f'["{mx.layer_names[0]}"]'
        raise InputError(f"Expected layers= for policy {policy!r}, a list of layers to draw as {example}, got {found}.")
    chosen = np.array([mx.layer_index(name) for name in layers], np.int64)
    arms = [to_arm(target, chosen[chosen != target]).tolist() for target in targets]
    counts = {len(row): mx.layer_names[target] for row, target in zip(arms, targets, strict=True)}
    if len(counts) > 1 or 0 in counts:
        found = " and ".join(f"{count} for {name!r}" for count, name in counts.items())
        raise InputError(f"Expected the same number of other layers for every target, at least one, got {found}.")
    return arms


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
    source, destination = mx.edge_index
    return np.bincount(mx.edge_layer[source != destination], minlength=mx.num_layers)


def _complete(mx: Multiplex, visibility: Visibility) -> Bools:
    """Return which layers have no negatives."""
    most = mx.num_edges if visibility.of_negatives.hides_everywhere else num_edges(mx).max(initial=0)
    if mx.node_types is None and 2 * most < mx.num_nodes * (mx.num_nodes - 1):  # so few leave a pair without an edge
        return np.zeros(mx.num_layers, np.bool_)
    return visibility.negative_pairs(mx).num_free() == 0


def _warn_of(mx: Multiplex, layers: Ints, which: str) -> None:
    if len(layers):
        warn(f"Layers with {which}: {show_names([mx.layer_names[layer] for layer in layers.tolist()])}.")


def _tell_scarce(mx: Multiplex, targets: Ints, visibility: Visibility) -> None:
    """Warn of negatives in a dense multiplex, and of targets that have fewer of them than linked pairs."""
    said = "Nearly all pairs of nodes are linked in some layer: negatives are pairs without an edge in their own layer."
    known = visibility.negative_pairs(mx)
    free = known.num_free()[targets]
    short = 2 * free < known.num_pairs()[targets]
    if short.any():
        names = show_names([mx.layer_names[target] for target in targets[short].tolist()], free[short].tolist())
        said += f" {np.count_nonzero(short)} of {len(targets)} targets have fewer such pairs than linked ones: {names}."
    warn(said)
