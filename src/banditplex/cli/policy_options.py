"""Policies on the command line: which are compared, and their options in terms of layers."""

import json
import math
from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from banditplex.bandits import POLICIES
from banditplex.bandits.base import SIZES
from banditplex.cli.data import as_name
from banditplex.errors import InputError

if TYPE_CHECKING:
    from banditplex.multiplex import Name

PolicyFlags = Mapping[str, Sequence[str]]
"""What was given for --layers, --price and --policy-option, by the names of these options."""


def parse_options(texts: Sequence[str]) -> dict[str, Any]:
    """Return options of a policy, each given as key=value; values are JSON, or else strings.

    >>> parse_options(["raw_range=true", "arms=[0, 2]", "policy=exp3"])
    {'raw_range': True, 'arms': [0, 2], 'policy': 'exp3'}
    """
    options: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InputError(f"Expected --policy-option KEY=VALUE, got {text!r}.")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options


def options_by_policy(
    policies: Sequence[str], policy_flags: PolicyFlags, names: "Sequence[Name]"
) -> dict[str, dict[str, Any]]:
    """Return the options of each policy; --layers and --price add the policies that they belong to.

    Each --policy-option goes to the policies that take it. `names` are those of all layers.

    >>> policy_flags = {"layers": ["a,b"], "price": ["a=3"], "policy_option": ["raw_range=true"]}
    >>> options_by_policy(["uniform", "exp3+"], policy_flags, ["a", "b", "c"])
    {'uniform': {}, 'exp3+': {'raw_range': True}, 'fixed': {'layers': ['a', 'b']}, 'cost-aware': {'prices': {'a': 3.0}}}
    """
    if len(set(policies)) != len(policies):
        raise InputError(f"Expected different policies, got {','.join(policies)}.")
    chosen: dict[str, dict[str, Any]] = {name: {} for name in policies}
    if policy_flags.get("layers"):
        parts = [part for text in policy_flags["layers"] for part in ([text] if text in names else text.split(","))]
        chosen.setdefault(_policy_with("indices"), {})["layers"] = [as_name(part, names) for part in parts]
    if policy_flags.get("price"):
        prices = dict(_parse_price(text, names) for text in policy_flags["price"])
        chosen.setdefault(_policy_with("values"), {})["prices"] = prices
    for option, value in parse_options(policy_flags.get("policy_option", ())).items():
        for name in _takers(list(chosen), option):
            chosen[name][option] = value
    return chosen


def with_policy(settings: Mapping[str, Any], policy_flags: PolicyFlags, names: "Sequence[Name]") -> dict[str, Any]:
    """Return settings with the options of the policy; --layers and --price also say which policy it is.

    >>> with_policy({"k": 1}, {"layers": ["a,b"]}, ["a", "b", "c"])
    {'k': 1, 'policy': 'fixed', 'policy_options': {'layers': ['a', 'b']}}
    """
    options, made = parse_options(policy_flags.get("policy_option", ())), dict(settings)
    asked = [settings["policy"]] if "policy" in settings else []
    chosen = options_by_policy(
        asked, {name: policy_flags[name] for name in policy_flags if name != "policy_option"}, names
    )
    if len(chosen) > 1:
        first, other, *_ = chosen
        flag = "--layers" if "layers" in chosen[other] else "--price"
        raise InputError(f"Expected {flag} with --policy {other}, got it with --policy {first}.")
    for policy, own in chosen.items():
        made["policy"], options = policy, {**options, **own}
    return made | ({"policy_options": options} if options else {})


def _policy_with(kind: str) -> str:
    """Return the policy that has an option of a kind: arm indices, or values per arm."""
    return next(name for name in POLICIES if kind in POLICIES[name].arm_options.values())


def _takers(policies: Sequence[str], option: str) -> list[str]:
    """Return the policies that have an option or, if none has, those that pass it on to another policy."""
    parameters = {name: signature(POLICIES[name]).parameters for name in policies}
    having = [name for name in policies if option in parameters[name]]
    open_ended = [name for name in policies if any(p.kind is Parameter.VAR_KEYWORD for p in parameters[name].values())]
    takers = [] if option in SIZES else having or open_ended
    if not takers:
        raise InputError(f"Expected an option of {' or '.join(policies)} as --policy-option, got {option!r}.")
    return takers


def _parse_price(text: str, names: "Sequence[Name]") -> "tuple[Name, float]":
    layer, _, price = text.rpartition("=")
    try:
        number = float(price)
    except ValueError:
        number = math.nan
    if not layer or not 0 < number < math.inf:
        raise InputError(f"Expected --price LAYER=NUMBER with a number above 0, got {text!r}.")
    return as_name(layer, names), number
