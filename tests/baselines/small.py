"""Baselines with sizes for tests: small enough to be fitted in a fraction of a second."""

from importlib.util import find_spec

import pytest

from banditplex.baselines import BASELINES
from banditplex.baselines.neural import NeuralBaseline
from banditplex.baselines.pykeen import MODELS

WALKS = {"dimension": 8, "num_walks": 2, "walk_length": 10, "window": 3}
LAYERS = {"dimension": 8, "epochs": 1, "num_walks": 2, "walk_length": 5}
SMALL: dict[str, dict] = {  # name -> options that make it fast
    "gatne-t": LAYERS | {"edge_dimension": 2, "attention_dimension": 3, "neighbour_samples": 3},
    "mne": LAYERS | {"layer_dimension": 2},
}
for names, options in (
    (("regression", "pooled-regression"), {"strengths": (0.1,)}),
    (("deepwalk", "deepwalk-union", "node2vec", "node2vec-union"), WALKS),
    (("line", "line-union"), {"dimension": 8, "epochs": 3}),
    (("distmult-torch", "complex-torch", "simple-torch", "rotate-torch"), {"dimension": 8, "epochs": 3}),
    (MODELS, {"dimension": 8, "epochs": 2}),
):
    SMALL |= dict.fromkeys(names, options)

needs_pykeen = pytest.mark.skipif(find_spec("pykeen") is None, reason="PyKEEN is not installed")
SIMPLE = [
    name for name in BASELINES
    if name not in MODELS and not isinstance(BASELINES[name](), NeuralBaseline)
]  # fmt: skip
"""All baselines but PyKEEN's and graph networks, which have tests of their own."""
NAMES = [*SIMPLE, *(pytest.param(name, marks=[needs_pykeen, pytest.mark.slow]) for name in MODELS)]
"""With those of PyKEEN, which takes seconds to import: only in `make test-all`."""


def make(name, **options):
    """Make a baseline with the sizes above."""
    return BASELINES[name](**{**SMALL.get(name, {}), **options})
