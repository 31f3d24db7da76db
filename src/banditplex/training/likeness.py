"""Compare a stored state with the state of the training that is to take it over, before any of it is used."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from banditplex.errors import InputError
from banditplex.schema import show


def check_like(found: Any, model: Any, where: str) -> None:
    """Refuse a state that differs from `model` in keys, types, shapes or dtypes, or has numbers that are not finite.

    Plain values may differ, but not in their type.

    >>> check_like({"w": torch.zeros(3)}, {"w": torch.zeros(4)}, "weights")
    Traceback (most recent call last):
    banditplex.errors.InputError: Expected torch.float32 of shape (4,) as weights['w'], got torch.float32 of shape (3,).
    """
    if isinstance(model, torch.Tensor | np.ndarray):
        _check_numbers(found, model, where)
    elif isinstance(model, Mapping):
        _check_kind(isinstance(found, Mapping), found, "an object", where)
        if list(found) != list(model):
            odd = next((name for name in [*model, *found] if (name in model) != (name in found)), None)
            got = "another order" if odd is None else f"{'no' if odd in model else 'also'} {show(odd)}"
            raise InputError(f"Expected the entries of this training in {where}, got {got}.")
        for name, each in model.items():
            check_like(found[name], each, f"{where}[{name!r}]")
    elif isinstance(model, list | tuple):
        _check_kind(type(found) is type(model), found, f"a {type(model).__name__}", where)
        _check_kind(len(found) == len(model), found, f"{len(model)} values", where)
        for place, each in enumerate(model):
            check_like(found[place], each, f"{where}[{place}]")
    else:
        _check_kind(type(found) is type(model), found, f"a value of type {type(model).__name__}", where)


def _check_numbers(found: Any, model: Any, where: str) -> None:
    expected = f"{model.dtype} of shape {tuple(model.shape)}"
    _check_kind(type(found) is type(model), found, expected, where)
    if found.dtype != model.dtype or found.shape != model.shape:
        raise InputError(f"Expected {expected} as {where}, got {found.dtype} of shape {tuple(found.shape)}.")
    finite = torch.isfinite(found) if isinstance(found, torch.Tensor) else np.isfinite(found)
    if not finite.all():
        raise InputError(f"Expected finite numbers as {where}, got others.")


def _check_kind(fits: bool, found: Any, expected: str, where: str) -> None:
    if not fits:
        shape = f"{found.dtype} of shape {tuple(found.shape)}" if isinstance(found, torch.Tensor | np.ndarray) else None
        raise InputError(f"Expected {expected} as {where}, got {shape or show(found)}.")
