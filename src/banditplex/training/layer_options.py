"""Policy options in terms of layers. Policies know arms only, so layer names are translated here."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditplex.bandits import POLICIES
from banditplex.bandits.arms import to_arm
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name

Ints = NDArray[np.int64]


def resolve_layer_options(mx: Multiplex, targets: Ints, policy: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a policy with arms of each target in place of layers.

    Options that are arm indices (`fixed`: `arms`) are given as `layers`, the names of layers to draw for every target;
    a target itself is left out. Options with a value per arm (`cost-aware`: `prices`) are given by layer name, and
    other layers get 1; if they are not given, the value of a layer is its number of edges.

    >>> mx = Multiplex.from_edges([0, 1, 2], [1, 2, 0], ["a", "b", "c"])
    >>> resolve_layer_options(mx, np.array([1, 2]), "fixed", {"layers": ["a"]})
    {'arms': [[0], [0]]}
    >>> resolve_layer_options(mx, np.array([1]), "cost-aware", {"prices": {"c": 5}, "policy": "exp3"})
    {'prices': [[1.0, 5.0]], 'policy': 'exp3'}
    """
    resolved = dict(options)
    names = mx.layer_names
    if len(names) == 1:
        return resolved
    index = {name: place for place, name in enumerate(names)}
    for option, kind in POLICIES[policy].arm_options.items():
        if kind == "indices" and option not in options:
            resolved[option] = _arms(mx, index, targets, policy, resolved.pop("layers", None) or ())
        elif kind == "values" and isinstance(options.get(option, {}), Mapping):
            values = np.maximum(mx.layer_sizes, 1.0) if option not in options else np.ones(len(names))
            for name, value in options.get(option, {}).items():
                values[_index(mx, index, name)] = value
            resolved[option] = [np.delete(values, target).tolist() for target in targets]
    return resolved


def _arms(
    mx: Multiplex, index: Mapping[Name, int], targets: Ints, policy: str, layers: Sequence[Name]
) -> list[list[int]]:
    if isinstance(layers, str) or not len(layers):
        found = repr(layers) if layers else "none"
        raise InputError(f"Expected layers= for policy {policy!r}, the layers to draw, got {found}.")
    chosen = np.array([_index(mx, index, name) for name in layers], np.int64)
    arms = [to_arm(target, chosen[chosen != target]).tolist() for target in targets]
    counts = {len(row): mx.layer_names[target] for row, target in zip(arms, targets, strict=True)}
    if len(counts) > 1 or 0 in counts:
        found = " and ".join(f"{count} for {name!r}" for count, name in counts.items())
        raise InputError(f"Expected the same number of other layers for every target, at least one, got {found}.")
    return arms


def _index(mx: Multiplex, index: Mapping[Name, int], name: Name) -> int:
    return index[name] if name in index else mx.layer_index(name)  # which refuses unknown names
