"""What all baselines share: parameters, targets, training pairs and the registry."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from banditplex.answers.not_fitted import NotFitted
from banditplex.arrays import Floats, Ints
from banditplex.baselines.columns import StructuralColumns
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.asked import as_pairs
from banditplex.pairs.visibility import Visibility
from banditplex.registry import Registry, check_choice
from banditplex.rng import stream
from banditplex.scorer import LinkScorer, OnEpoch

BASELINES: "Registry[Callable[..., LinkScorer]]" = Registry("baseline")
"""Name -> function that makes the method; it takes `hide`, `seed` and the method's own parameters."""
T = TypeVar("T")
TABLE_FOLDS = 5  # training pairs of a target are distributed over so many folds


@dataclass_transform(eq_default=False, kw_only_default=True)
def parameters(cls: type[T]) -> type[T]:
    """Let the constructor of a class take and store what the class lists with types and defaults, by keyword."""
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


def choice(*choices: str, **options: Any) -> Any:
    """Return a parameter that is one of some strings, by default the first; `options` are those of `field`."""
    return field(default=choices[0], metadata={"choices": choices}, **options)


@parameters
class Baseline(BaseEstimator, ABC):  # type: ignore[misc]
    """A link prediction method to compare with: `fit` to a multiplex, then `score_pairs`.

    The constructor stores its arguments. Every baseline has two parameters: `hide`, what it must not see of a pair
    (None, "edge", "layer" or "pair"; see `banditplex.pairs.visibility`), and `seed`.
    """

    sees_own_edge: ClassVar[bool] = True
    """Whether the score of a training edge may depend on that edge; False is checked by `testing.check_scorer`."""

    hide: str | None = None
    seed: int = 0

    def fit(self, mx: Multiplex, targets: Sequence[Name] | None = None, on_epoch: OnEpoch | None = None) -> Self:
        """Learn to predict links in the target layers (None = every layer).

        Methods that learn in epochs call on_epoch(self, row) after each of them, and end training if it returns True.
        """
        for each in fields(self):
            check_choice(each.name, getattr(self, each.name), each.metadata.get("choices", [getattr(self, each.name)]))
        if isinstance(targets, str):
            raise InputError(f"Expected a list of layer names as targets, got the string {targets!r}.")
        names = mx.layer_names if targets is None else targets
        self.mx_, self.targets_ = mx, [mx.layer_index(name) for name in names]
        self.visibility_ = Visibility.of_training(self.hide, mx)
        self.__dict__.pop("columns_", None)
        self._on_epoch = on_epoch
        self._fit()
        del self._on_epoch
        return self

    @cached_property
    def columns_(self) -> StructuralColumns:
        """Structural columns of the fitted multiplex, computed at first use."""
        return StructuralColumns(self.mx_, self.visibility_)

    def score_pairs(self, pairs: ArrayLike, layer: Name) -> Floats:
        """Return a score (n,) for each pair (n, 2) of node names."""
        if not hasattr(self, "mx_"):
            raise NotFitted(f"Expected a fitted {type(self).__name__}, got one that is not fitted: call fit first.")
        target = self.mx_.layer_index(layer)
        if target not in self.targets_:
            raise InputError(f"Expected a target of fit as layer, got {layer!r}.")
        index = as_pairs(self.mx_, pairs)
        return self._score(index, target) if len(index) else np.empty(0)

    @abstractmethod
    def _fit(self) -> None:
        """Learn from `self.mx_` for `self.targets_`."""

    @abstractmethod
    def _score(self, pairs: Ints, target: int) -> Floats:
        """Return scores of pairs (n, 2) of node indices in a target layer."""


def add_one_graph(name: str, make: Callable[..., "Baseline"]) -> None:
    """Register a method for one graph as NAME, on the target layer, and as NAME-union."""
    BASELINES.add(name, make)
    BASELINES.add(f"{name}-union", partial(make, graph="union"))


class TrainingTable(NamedTuple):
    """Columns (n, F), labels (n,) and folds (n,) of pairs to learn from; cross-validate along these folds."""

    values: Floats
    label: Ints
    fold: Ints


Compute = Callable[[StructuralColumns, Ints, int], Floats]  # columns (n, F) of pairs (n, 2) in a target


def training_tables(
    columns: StructuralColumns, targets: Sequence[int], seed: int, compute: Compute, *, each: int, at_most: int
) -> dict[int, TrainingTable]:
    """Return columns of edges and negatives of each target, as a model will see those of new pairs.

    Edges and negatives are distributed over folds, and the columns of a fold are those of the multiplex without its
    edges. Hiding only each edge from itself is not enough: all edges of a node would have a degree one lower than its
    negatives, and trees would learn this. An edge has `each` negatives, fewer if there are not so many, and a target
    `at_most` edges, chosen at random. Targets without edges or without negatives are left out.
    """
    mx, found, visibility = columns.mx, {}, columns.visibility
    known, sampler = visibility.of_negatives.known_pairs(mx), visibility.negative_sampler(mx)
    free = known.num_free()

    def draw(target: int, count: int, rng: np.random.Generator) -> Ints:
        """Return distinct negatives, or all if there are fewer: one in two folds would be a leak."""
        if 2 * count < free[target]:
            return sampler.draw(np.full(count, target), rng, distinct=True)
        pairs = known.free_pairs(target)[0]
        chosen: Ints = rng.choice(pairs, min(count, len(pairs)), replace=False)
        return rng.permuted(chosen, axis=1) if known.directed and not known.ordered else chosen

    for target in targets:
        rng = stream(seed, "baseline", target)
        edges = mx.edges(mx.layer_names[target]).T
        edges = edges[edges[:, 0] != edges[:, 1]]
        if len(edges) > at_most:
            edges = edges[np.sort(rng.choice(len(edges), at_most, replace=False))]
        negatives = draw(target, each * len(edges), rng)
        if not len(edges) or not len(negatives):
            continue
        pairs = np.concatenate([edges, negatives])
        is_edge = np.arange(len(pairs)) < len(edges)
        keys = visibility.keys(np.zeros(len(pairs), np.int64), pairs, mx.num_nodes)
        _, group = np.unique(keys, return_inverse=True)  # what is hidden together is in one fold
        fold = (rng.permutation(group.max() + 1) % TABLE_FOLDS)[group]
        folds = [np.flatnonzero(fold == index) for index in np.unique(fold)]
        parts = [compute(columns.without(pairs[some][is_edge[some]], target), pairs[some], target) for some in folds]
        order = np.argsort(np.concatenate(folds))
        found[target] = TrainingTable(np.concatenate(parts)[order], is_edge.astype(np.int64), fold)
    return found
