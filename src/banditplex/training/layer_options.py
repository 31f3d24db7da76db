"""Options of policies in words of layers: which to look at, and what each costs. Policies know arms only."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.training.draws import to_arm

Ints = NDArray[np.int64]


def in_arms(mx: Multiplex, targets: Ints, policy: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a policy, with arms of each target in place of layers.

    `fixed` takes `layers`, the names of the layers that every target looks at, itself left out. `cost-aware` takes
    `prices` by layer name, where other layers cost 1; without `prices`, every edge of a layer costs 1.

    >>> mx = Multiplex.from_edges([0, 1, 2], [1, 2, 0], ["a", "b", "c"])
    >>> in_arms(mx, np.array([1, 2]), "fixed", {"layers": ["a"]})
    {'arms': [[0], [0]]}
    >>> in_arms(mx, np.array([1]), "cost-aware", {"prices": {"c": 5}, "policy": "exp3"})
    {'prices': [[1.0, 5.0]], 'policy': 'exp3'}
    """
    if mx.num_layers == 1:
        return dict(options)
    if policy == "fixed" and "arms" not in options:
        rest = {name: value for name, value in options.items() if name != "layers"}
        return rest | {"arms": _arms(mx, targets, options.get("layers") or ())}
    if policy == "cost-aware" and isinstance(options.get("prices", {}), Mapping):
        return {**options, "prices": _prices(mx, targets, options.get("prices"))}
    return dict(options)


def _arms(mx: Multiplex, targets: Ints, layers: Sequence[Name]) -> list[list[int]]:
    if isinstance(layers, str) or not len(layers):
        found = repr(layers) if layers else "none"
        raise InputError(f"Expected layers (--layers) for the policy 'fixed' to look at, got {found}.")
    chosen = np.array([mx.layer_index(name) for name in layers], np.int64)
    arms = [to_arm(target, chosen[chosen != target]).tolist() for target in targets]
    counts = {len(row): mx.layer_names[target] for row, target in zip(arms, targets, strict=True)}
    if len(counts) > 1 or 0 in counts:
        found = " and ".join(f"{count} for {name!r}" for count, name in counts.items())
        raise InputError(f"Expected layers that leave each target as many others, at least one, got {found}.")
    return arms


def _prices(mx: Multiplex, targets: Ints, given: Mapping[Name, float] | None) -> list[list[float]]:
    prices = np.maximum(mx.layer_sizes, 1.0) if given is None else np.ones(mx.num_layers)
    for name, price in (given or {}).items():
        prices[mx.layer_index(name)] = price
    return [np.delete(prices, target).tolist() for target in targets]
