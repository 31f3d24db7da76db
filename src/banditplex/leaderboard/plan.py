"""The conditions of a comparison: its plan, its device, and what all methods alike are fitted to and tested on."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from banditplex.errors import InputError
from banditplex.evaluation.split import HARD_EACH, FixedSplit, Split, ranked_against, split
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.visibility import Visibility
from banditplex.rng import random_ranks, stream
from banditplex.training.data import choose_device


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The conditions of a comparison, the same for all methods."""

    hide: str = "layer"
    seeds: int = 5  # splits, and seeds of the methods
    trials: int = 10  # settings tried per method and seed, at most; 1: no tuning
    budget: float = 120.0  # seconds of a fit, and of scoring the test pairs; see `jobs.limits.Usage`
    memory: float = 8.0  # gigabytes of a fit
    targets: tuple[Name, ...] | None = None  # None: every layer with enough edges
    device: str = "auto"  # of all methods that have the choice; auto: CUDA where there is one

    def check(self, mx: Multiplex) -> None:
        """Refuse values that make no sense."""
        Visibility.of_split(self.hide, mx)
        for name, least in (("seeds", 1), ("trials", 1)):
            if getattr(self, name) < least:
                raise InputError(f"Expected {name} to be at least {least}, got {getattr(self, name)}.")
        for name in ("budget", "memory"):
            if not getattr(self, name) > 0:
                raise InputError(f"Expected {name} to be above 0, got {getattr(self, name)}.")
        for layer in self.targets or ():
            mx.layer_index(layer)


def find_device(name: str, engine: str) -> str:
    """Return the device that fits use: a name, or for "auto" CUDA where there is one; refuse one that is not here."""
    if engine == "ray":  # its tasks ask for a processor, not for a GPU
        if name not in ("auto", "cpu"):
            raise InputError(f"Expected device to be 'cpu' with the engine ray, got {name!r}.")
        return "cpu"
    found = choose_device(name)
    return str(found) if name == "auto" else name


def on_cuda(device: str) -> bool:
    """Return whether a device is a GPU that CUDA runs on."""
    return device.startswith("cuda")


def describe_device(device: str) -> str:
    """Return a device in words: that of CUDA with the name that torch has for it."""
    return f"CUDA: {torch.cuda.get_device_name(device)}" if on_cuda(device) else device


def start_device(device: str) -> None:
    """Start CUDA, if it is used: this takes seconds and memory that are not those of a method."""
    if on_cuda(device):
        if torch.device(device).index is not None:
            torch.cuda.set_device(device)  # the one whose memory is watched
        torch.zeros(1, device=device)


SHARE = 0.2  # share of the edges held out for the test and, of the other edges, for tuning
RANKED, LEAST_RANKED = 500, 5  # held-out edges that are ranked, in all layers together; at least so many of each layer


class Part(NamedTuple):
    """Test pairs with labels, and held-out edges to rank.

    `ranked` are some of these with negatives of their own, by the name of the negatives; `triples`, if not None, says
    which edges are known, and `name` which part of it is ranked among all nodes.
    """

    test: Split
    ranked: dict[str, Split]
    triples: FixedSplit | None = None
    name: str = "test"


@dataclass(frozen=True)
class Parts:
    """Makes the parts of a multiplex, or of a split that comes with the data."""

    full: Multiplex
    hide: str
    fixed: FixedSplit | None = None

    def for_tuning(self, seed: int) -> Part:
        """Return validation edges: a share of the training graph of `for_test`, which has no test pairs."""
        if self.fixed is not None:
            return Part(replace(self.fixed.valid, hide=self.fixed.hide), {}, self.triples, "valid")
        return Part(self.split(seed).validation(SHARE, seed), {})

    def for_test(self, seed: int) -> Part:
        """Return the test pairs; edges to rank have random and hard negatives, unless the split is fixed."""
        data = self.split(seed)
        if self.fixed is not None:
            return Part(data, {}, self.triples)
        data.check(self.full)
        return Part(data, _ranked(data, self.full, stream(seed, "ranked")))

    @property
    def triples(self) -> FixedSplit | None:
        """The split that comes with the data, if single edges of it are ranked among all nodes."""
        return self.fixed if self.fixed is not None and self.fixed.of_triples else None

    def split(self, seed: int) -> Split:
        """Return the training graph and the labelled test pairs of a seed; `hide` is what methods must not see."""
        if self.fixed is not None:
            return replace(self.fixed.test, hide=self.fixed.hide)
        return split(self.full, hide=self.hide, share=SHARE, seed=seed)


def _ranked(data: Split, full: Multiplex, rng: np.random.Generator) -> dict[str, Split]:
    """Return some held-out edges of each layer, each with as many random and as many hard negatives of its own."""
    edges = data.label == 1
    layer, pairs = data.layer[edges], data.pairs[edges]
    some = random_ranks(layer, rng) < max(RANKED // len(np.unique(layer)), LEAST_RANKED)
    layer, pairs = layer[some], pairs[some]
    known = Visibility.of_split(data.hide, full).test_negatives(full, data.train)
    chosen, ranked = replace(data, layer=layer, pairs=pairs, label=np.ones(len(layer), np.int64)), {}
    for name, kind in (("random", "uniform"), ("hard", "hard")):
        negatives = ranked_against(kind, HARD_EACH, full, data.train, layer, pairs, known, rng)
        ranked[name] = replace(chosen, negatives=negatives)
        ranked[name].check(full)
    return ranked
