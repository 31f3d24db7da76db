"""Options of policies on the command line."""

import json
from collections.abc import Sequence
from inspect import Parameter, signature
from typing import Any

from banditplex.bandits import POLICIES
from banditplex.bandits.base import SIZES
from banditplex.errors import InputError


def parse_options(texts: Sequence[str] | None) -> dict[str, Any]:
    """Return options of a policy, each given as key=value; values are JSON, or else strings."""
    options: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InputError(f"Expected --policy-option KEY=VALUE, got {text!r}.")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options


def options_by_policy(policies: Sequence[str], texts: Sequence[str] | None) -> dict[str, dict[str, Any]]:
    """Return the options of each policy; an option goes to the policies that take it."""
    if len(set(policies)) != len(policies):
        raise InputError(f"Expected different policies, got {','.join(policies)}.")
    chosen: dict[str, dict[str, Any]] = {name: {} for name in policies}
    for option, value in parse_options(texts).items():
        for name in _takers(policies, option):
            chosen[name][option] = value
    return chosen


def _takers(policies: Sequence[str], option: str) -> list[str]:
    """Return the policies that have an option or, if none has, those that pass it on to another policy."""
    parameters = {name: signature(POLICIES[name]).parameters for name in policies}
    by_layer = [name for name in policies if option == "layers" and "indices" in POLICIES[name].arm_options.values()]
    having = [name for name in policies if option in parameters[name]]
    open_ended = [name for name in policies if any(p.kind is Parameter.VAR_KEYWORD for p in parameters[name].values())]
    takers = [] if option in SIZES else by_layer or having or open_ended
    if not takers:
        raise InputError(f"Expected an option of {' or '.join(policies)} as --policy-option, got {option!r}.")
    return takers
