"""Link prediction on multiplex networks; a bandit learns which layers to look at.

The public names are handed out lazily: importing the package imports neither torch nor pandas.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from banditplex.version import __version__

if TYPE_CHECKING:
    from banditplex.datasets import groups, load_dataset, planted
    from banditplex.errors import InputError
    from banditplex.evaluation import evaluate
    from banditplex.io import read, write
    from banditplex.multiplex import Multiplex
    from banditplex.predictor import LinkPredictor

logging.getLogger(__name__).addHandler(logging.NullHandler())  # who wants to see it, says where

_HOME = {
    "InputError": "errors", "LinkPredictor": "predictor", "Multiplex": "multiplex", "evaluate": "evaluation",
    "groups": "datasets", "load_dataset": "datasets", "planted": "datasets", "read": "io", "write": "io",
}  # fmt: skip


__all__ = [
    "InputError", "LinkPredictor", "Multiplex", "__version__", "evaluate", "groups", "load_dataset", "planted", "read",
    "write",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'banditplex' has no attribute {name!r}")
    return getattr(import_module(f"banditplex.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
