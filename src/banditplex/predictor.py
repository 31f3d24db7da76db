"""`LinkPredictor`: learns from a multiplex, predicts links in its layers and says which layers it looked at."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from banditplex.bandits import POLICIES
from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.nn import Convolution
from banditplex.nn.ensemble import members_of
from banditplex.pairs.asked import as_pairs
from banditplex.pairs.space import PairSpace
from banditplex.pairs.visibility import Visibility
from banditplex.persistence.checkpoint import Checkpoint
from banditplex.persistence.model_folder import load, save
from banditplex.persistence.warm_start import carry_over
from banditplex.prediction import FittedModel
from banditplex.training.calibration import HeldOut
from banditplex.training.config import SETTINGS, Config, Setting, numpydoc
from banditplex.training.draws import to_layer
from banditplex.training.gains import layer_gains
from banditplex.training.generators import seeded
from banditplex.training.layer_options import resolve_layer_options
from banditplex.training.loop import Trainer
from banditplex.training.members import Members, member_seed
from banditplex.training.memory import limited
from banditplex.training.setup import choose_members, make_trainer
from banditplex.training.threads import fitting_threads
from banditplex.training.validation import MAX_USED

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
CHUNK = 1 << 17
"""Pairs that `recommend` scores at once."""


@dataclass(kw_only=True, repr=False, eq=False)
class LinkPredictor(Config, BaseEstimator):  # type: ignore[misc]
    """Predicts links in the layers of a multiplex; bandits learn which other layers to look at.

    The constructor stores its arguments, `fit` learns. On a directed multiplex, links are directed. Edge weights are
    message weights of the encoder; structural features count edges.

    {parameters}

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ends = rng.integers(0, 20, (2, 120))
    >>> mx = Multiplex.from_edges(*ends, np.repeat(["a", "b"], 60), num_nodes=20, self_loops="drop")
    >>> model = LinkPredictor(epochs=2, width=0).fit(mx)
    >>> model.score_pairs([[0, 1], [2, 3]], layer="a").shape
    (2,)
    """

    warm_start: bool = False

    # Learning

    def fit(
        self,
        mx: Multiplex,
        targets: Sequence[Name] | None = None,
        on_epoch: Callable[["LinkPredictor", dict[str, Any]], Any] | None = None,
        *,
        negatives: Mapping[Name, ArrayLike] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> "LinkPredictor":
        """Learn to predict links in the target layers.

        Parameters
        ----------
        mx
            The training graph: nothing else is looked at.
        targets
            Layer names. None = every layer with an edge. A named layer may be empty: it is predicted with what the
            other targets have taught the shared weights.
        on_epoch
            Called as on_epoch(model, row) after each epoch, with the means over targets in `row` and one row per
            target in row["layers"]; the model predicts with its present weights. Training ends if it returns True.
        negatives
            For each target, pairs (n, 2) that are not links, to learn from instead of pairs drawn at random.
        checkpoint
            A folder that holds, from the start and after each epoch, all that is needed to go on.
        resume
            Whether to continue from the checkpoint, if there is one; settings and data must be the same.
        """
        if resume and checkpoint is None:
            raise InputError("Expected checkpoint=, the folder of the run to resume, got none.")
        with limited(self.checked().memory_limit, mx.num_edges if isinstance(mx, Multiplex) else 0):
            self._fit(mx, targets, on_epoch, negatives, checkpoint, resume)
        return self

    def _fit(
        self,
        mx: Multiplex,
        targets: Sequence[Name] | None,
        on_epoch: Callable[["LinkPredictor", dict[str, Any]], Any] | None,
        negatives: Mapping[Name, ArrayLike] | None,
        checkpoint: str | Path | None,
        resume: bool,
    ) -> None:
        members = self.make_members(mx, targets, negatives=negatives)
        kept = None
        if checkpoint is not None:
            kept = Checkpoint(checkpoint, mx, members, negatives=negatives, arguments=self._arguments())
        config, device = members.current.config, members.current.data.device
        turn = seeded(config.seed, "torch", device) if config.uses_torch_generators else nullcontext()
        with fitting_threads(mx.num_edges), turn, nullcontext() if kept is None else kept.held():
            if kept is not None:
                kept.begin(resume=resume)
            while not members.finished:
                row = _summary(members.run_epoch()) | {"epochs": members.count * members.current.epochs}
                if kept is not None:
                    kept.save()
                if on_epoch is not None:
                    self._take(members, finished=False)
                    stop = on_epoch(self, row) is True
                    if members.current.data.group.from_first(lambda: stop):  # noqa: B023
                        break
            members.finish()
            self._take(members, finished=True)

    def make_trainer(
        self,
        mx: Multiplex,
        targets: Sequence[Name] | None = None,
        *,
        negatives: Mapping[Name, ArrayLike] | None = None,
    ) -> Trainer:
        """Return the trainer of the first network that `fit` trains: checked input, nothing learnt yet."""
        return self.make_members(mx, targets, negatives=negatives).current

    def make_members(
        self,
        mx: Multiplex,
        targets: Sequence[Name] | None = None,
        *,
        negatives: Mapping[Name, ArrayLike] | None = None,
    ) -> Members:
        """Return what `fit` runs: the trainer of each network in turn."""
        if not isinstance(mx, Multiplex):
            raise InputError(f"Expected a Multiplex to learn from, got {type(mx).__name__}.")
        config = self.checked()
        visibility = Visibility.of_training(config.hide, mx, evidence=config.sees_all)
        chosen = _check_targets(mx, targets, visibility)
        config = _resolve_policy(config, mx, chosen)
        given = None if negatives is None else self._given(mx, chosen, negatives)

        def make(member: int) -> Trainer:
            seeded = replace(config, seed=member_seed(config.seed, member))
            trainer = make_trainer(mx, chosen, seeded, negatives=given)
            if self.warm_start and hasattr(self, "_fitted"):
                carry_over(self._fitted, trainer, member)
            return trainer

        return Members(make, choose_members(config, mx))

    def check_settings(self, mx: Multiplex, targets: Sequence[Name] | None = None) -> None:
        """Refuse settings that `fit` would refuse on this multiplex."""
        same = clone(self)
        if same.device == "auto":
            same.device = "cpu"  # a look needs no GPU
        same.make_trainer(mx, targets)

    def _given(self, mx: Multiplex, targets: Ints, negatives: Mapping[Name, ArrayLike]) -> dict[int, Ints]:
        if not isinstance(negatives, Mapping):
            raise InputError(f"Expected negatives as a dictionary, layer: pairs, got {type(negatives).__name__}.")
        given = {mx.layer_index(name): as_pairs(mx, pairs) for name, pairs in negatives.items()}
        for name, pairs in ((mx.layer_names[layer], pairs) for layer, pairs in given.items()):
            known = mx.has_edges(pairs, name)
            if known.any():
                pair = tuple(mx.node_names[pairs[np.argmax(known)]].tolist())
                raise InputError(f"Expected negatives that are not edges of layer {name!r}, got {pair}.")
        for target in targets[_num_edges(mx)[targets] > 0].tolist():
            if not len(given.get(target, ())):
                raise InputError(f"Expected negatives for target layer {mx.layer_names[target]!r}, got none.")
        return given

    def _take(self, members: Members, *, finished: bool) -> None:
        self._fitted = FittedModel.from_trainers(members.trainers, finished=finished)
        self._rows, self._trainer = members.history, members.current

    # Predicting

    def score_pairs(self, pairs: ArrayLike, layer: Name, *, context: Multiplex | None = None, draws: int = 0) -> Floats:
        """Return the logits (n,) of pairs (n, 2) of node names (or indices, where names are strings) in a layer.

        A pair's own edge in the layer is never visible, whether it is known or not. `context` is another multiplex
        with the same layers (and node features) to look at instead of the training graph: new edges, new nodes.
        `draws` > 0 takes the mean over this many draws of the policy instead of the most probable layers.
        """
        fitted = self._check_fitted().within(context)
        return fitted.logits(as_pairs(fitted.mx, pairs), layer, draws=draws)

    def score_by_layer(self, pairs: ArrayLike, layer: ArrayLike, others: ArrayLike) -> Floats:
        """Return the logits (n, m) of pairs (n, 2) with each of some other layers alone, of all targets in one go.

        `layer` (n,) is the target layer of each pair and `others` (n, m) what it may look at, as layer indices. The
        pairs must not be edges of the training graph. Use it to measure what a layer is worth.
        """
        fitted = self._check_fitted()
        table = np.asarray(others, np.int64)
        target = np.asarray(layer, np.int64)
        index = as_pairs(fitted.mx, pairs)
        if target.shape != (len(index),) or table.ndim != 2 or len(table) != len(index):
            shapes = f"{target.shape} and {table.shape}"
            raise InputError(f"Expected a layer (n,) and other layers (n, m) for {len(index)} pairs, got {shapes}.")
        every = np.concatenate([target[:, None], table], 1)
        if len(index) and (every.min() < 0 or every.max() >= fitted.mx.num_layers or (every[:, :1] == table).any()):
            raise InputError(f"Expected layer indices below {fitted.mx.num_layers}, none of them a pair's own layer.")
        return fitted.logits_by_layer(index, target, table)

    def predict_proba(
        self, pairs: ArrayLike, layer: Name, *, prior: float | None = None, context: Multiplex | None = None
    ) -> Floats:
        """Return calibrated probabilities (n,) that pairs are links.

        `prior` is the share of links among the pairs you ask about. None: the density of the layer, its known edges
        divided by all possible pairs, as if any pair of nodes could be asked about.
        """
        fitted = self._check_fitted().within(context)
        scores = fitted.logits(as_pairs(fitted.mx, pairs), layer)
        return fitted.calibration.probability(scores, fitted.instance(layer), _check_prior(prior, fitted, layer))

    def explain(self, pairs: ArrayLike, layer: Name, *, context: Multiplex | None = None) -> pd.DataFrame:
        """Return the terms that make up the scores of pairs (n, 2): one row per pair, one column per layer.

        The first column is the target layer's own term, with the evidence of all layers in it; the others are those of
        the layers that predictions use. The sum of a row is what `score_pairs` returns.
        """
        fitted = self._check_fitted().within(context)
        used, terms = fitted.terms(as_pairs(fitted.mx, pairs), layer)
        return pd.DataFrame(terms, columns=[layer, *(fitted.layer_names[index] for index in used)])

    def density(self, layer: Name, *, context: Multiplex | None = None) -> float:
        """Return the share of known edges among all possible pairs of a layer: the prior where none is given."""
        return self._check_fitted().within(context).density(layer)

    def recommend(
        self,
        layer: Name,
        *,
        top: int = 20,
        candidates: ArrayLike | None = None,
        prior: float | None = None,
        context: Multiplex | None = None,
    ) -> pd.DataFrame:
        """Return the `top` most likely new links of a layer: source, destination, probability.

        All pairs that are not known edges are ranked, or those of `candidates` (n, 2), each once; memory does not
        grow with the number of pairs ranked. If nodes have types, only pairs of the types that the layer links in
        training are ranked, unless `candidates` are given. `prior` is the share of links among the ranked pairs. None:
        the density of the layer, as if there were as many new links, in proportion, as known ones. The prior that was
        assumed is in `attrs["prior"]` of the result.
        """
        if not isinstance(top, int | np.integer) or top < 0:
            raise InputError(f"Expected top to be an integer of at least 0, got {top!r}.")
        fitted = self._check_fitted().within(context)
        mx, assumed, instance = fitted.mx, _check_prior(prior, fitted, layer), fitted.instance(layer)
        if candidates is not None:
            chunks = iter([_distinct(as_pairs(mx, candidates), mx)])
        elif mx.node_types is None:
            chunks = _all_pairs(mx)
        else:
            chunks = PairSpace(mx, links_of=self._fitted.mx).chunks(mx.layer_index(layer), CHUNK)
        best, scores = np.empty((0, 2), np.int64), np.empty(0)
        for chunk in chunks:
            pairs = chunk[~mx.has_edges(chunk, layer)]
            scores = np.concatenate([scores, fitted.logits(pairs, layer)])
            best = np.concatenate([best, pairs])
            keep = np.argsort(-scores, kind="stable")[:top]
            best, scores = best[keep], scores[keep]
        table = pd.DataFrame(
            {
                "source": mx.node_names[best[:, 0]],
                "destination": mx.node_names[best[:, 1]],
                "probability": fitted.calibration.probability(scores, instance, assumed),
            }
        )
        table.attrs["prior"] = assumed
        return table

    # What was learnt

    @property
    def multiplex_(self) -> Multiplex:
        """The training graph."""
        return self._check_fitted().mx

    @property
    def num_parameters_(self) -> int:
        """Number of trained weights of the network."""
        return sum(weight.numel() for weight in self._check_fitted().model.parameters() if weight.requires_grad)

    @property
    def layer_gains_(self) -> pd.DataFrame:
        """Which layers help: one row per target and layer, the largest gain of a target first.

        `gain` is how far the log loss per pair falls when the layer is added to a model of the target layer alone;
        `low` and `high` are its limits (95 %, for all rows together); `helps` says whether low > 0. Pairs that
        estimate a gain were not used to choose the layer: with at most 40 other layers all are compared, across folds
        of the training edges; with more, the most probable ones, on validation edges. Computed when first asked for.
        """
        names = self._check_fitted().layer_names
        columns = ["target", "layer", "gain", "low", "high", "helps"]
        table = pd.DataFrame(self._gains(), columns=columns).sort_values(
            ["target", "gain"], ascending=[True, False], kind="stable", ignore_index=True
        )
        for column in columns[:2]:
            table[column] = [names[index] for index in table[column]]
        return table

    def _gains(self) -> list[dict[str, Any]]:
        fitted = self._check_fitted()
        if fitted.gains is None:
            looked_at = self._trainer.most_probable_layers(max(MAX_USED, fitted.layers.shape[1]))
            alone = len(members_of(fitted.model)) == 1  # else policies have learnt from validation edges of others
            found = layer_gains(self._trainer.data, looked_at, fitted.config.seed, unseen=alone)
            self._fitted = fitted = replace(fitted, gains=found)
        assert fitted.gains is not None
        return fitted.gains

    @property
    def k_(self) -> pd.Series:
        """How many other layers predictions in each target use."""
        fitted = self._check_fitted()
        return pd.Series(fitted.counts, index=[fitted.layer_names[target] for target in fitted.targets], name="k")

    @property
    def layer_probabilities_(self) -> pd.DataFrame:
        """How likely each policy is to draw each layer: target x layer; rows sum to the number of layers drawn."""
        fitted = self._check_fitted()
        names = fitted.layer_names
        table = np.zeros((len(fitted.targets), len(names)))
        if fitted.policy is not None:
            inclusion = fitted.policy.inclusion()
            arms = np.arange(inclusion.shape[1])[None]
            np.put_along_axis(table, to_layer(fitted.targets[:, None], arms), inclusion, 1)
        return pd.DataFrame(table, index=[names[target] for target in fitted.targets], columns=list(names))

    @property
    def history_(self) -> pd.DataFrame:
        """One row per epoch and target: losses, accuracies, drawn layers, layer losses, inclusion, regret."""
        self._check_fitted()
        return pd.DataFrame(self._rows)

    @property
    def held_out_(self) -> HeldOut | None:
        """Scores of validation edges and of unknown pairs, on the graph without them; None in a loaded model."""
        return self._check_fitted().held_out

    # Keeping

    def save(self, folder: str | Path) -> None:
        """Write the model and the training graph to a folder: safetensors and JSON."""
        self._gains()
        save(folder, self._check_fitted(), self._rows, self._arguments())

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto", conv: Convolution | None = None) -> "LinkPredictor":
        """Read a model that `save` wrote; it predicts without the training data."""
        fitted, history, arguments = load(folder, device=device, conv=conv)
        model = cls(**fitted.config.values() | arguments)
        model._fitted, model._rows = fitted, history
        return model

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments of the constructor that training resolves, as they were given."""
        return {name: getattr(self, name) for name in ("hide", "policy_options", "warm_start")}

    def _check_fitted(self) -> FittedModel:
        if not hasattr(self, "_fitted"):
            raise InputError("Expected a fitted LinkPredictor, got one that is not fitted: call fit first.")
        return self._fitted

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")


_WARM_START = Setting(False, "Whether another `fit` continues from the weights and policies of the last one.")
if LinkPredictor.__doc__:  # python -OO has none
    LinkPredictor.__doc__ = LinkPredictor.__doc__.replace(
        "{parameters}", numpydoc(SETTINGS | {"warm_start": _WARM_START}).replace("\n", "\n    ")
    )


def _check_prior(prior: float | None, fitted: FittedModel, layer: Name) -> float:
    """Return a prior that was given, or the density of the layer; refuse one that is no probability."""
    if prior is None:
        return fitted.density(layer)
    if not isinstance(prior, int | float | np.number) or not 0 < prior < 1:
        raise InputError(f"Expected prior between 0 and 1, got {prior!r}.")
    return float(prior)


def _resolve_policy(config: Config, mx: Multiplex, targets: Ints) -> Config:
    """Return settings with arms in place of layer names in the options of the policy; refuse a k out of range."""
    others = mx.num_layers - 1
    if others and POLICIES[config.policy].takes_k and not 1 <= config.draw_size <= others:
        raise InputError(f"Expected k from 1 to {others}, the number of other layers, got {config.k}.")
    options = resolve_layer_options(mx, targets, config.policy, config.policy_options or {})
    return replace(config, policy_options=options)


def _check_targets(mx: Multiplex, targets: Sequence[Name] | None, visibility: Visibility) -> Ints:
    empty = _num_edges(mx) == 0
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


def _num_edges(mx: Multiplex) -> Ints:
    """Return the number of edges of each layer, without self loops."""
    return np.bincount(mx.edge_layer[mx.edge_index[0] != mx.edge_index[1]], minlength=mx.num_layers)


def _complete(mx: Multiplex, visibility: Visibility) -> NDArray[np.bool_]:
    """Return which layers have no negatives."""
    most = mx.num_edges if visibility.hides_everywhere else _num_edges(mx).max(initial=0)
    if mx.node_types is None and 2 * most < mx.num_nodes * (mx.num_nodes - 1):  # so few leave a pair without an edge
        return np.zeros(mx.num_layers, np.bool_)
    complete: NDArray[np.bool_] = visibility.negative_pairs(mx).num_free() == 0
    return complete


def _warn_of(mx: Multiplex, layers: Ints, which: str) -> None:
    names = ", ".join(repr(mx.layer_names[layer]) for layer in layers[:5].tolist())
    if names:
        warnings.warn(f"Layers with {which}: {names}{', ...' if len(layers) > 5 else ''}.", stacklevel=5)


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    numbers = ("train_loss", "train_accuracy", "validation_loss", "validation_accuracy")
    means = {name: _mean([row[name] for row in rows]) for name in numbers}
    return {"epoch": rows[0]["epoch"], **means, "layers": rows}


def _mean(values: list[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _distinct(pairs: Ints, mx: Multiplex) -> Ints:
    """Return pairs (n, 2) without those that come again, the other way round too if undirected."""
    _, first = np.unique(pairs if mx.directed else np.sort(pairs, axis=1), axis=0, return_index=True)
    distinct: Ints = pairs[np.sort(first)]
    return distinct


def _all_pairs(mx: Multiplex) -> Iterator[Ints]:
    """Yield all pairs of distinct nodes, smaller index first if undirected, in chunks."""
    rows = max(1, CHUNK // max(1, mx.num_nodes))
    for low in range(0, mx.num_nodes, rows):
        source, destination = np.indices((min(rows, mx.num_nodes - low), mx.num_nodes)).reshape(2, -1)
        source += low
        keep = source != destination if mx.directed else source < destination
        yield np.stack([source[keep], destination[keep]], 1)
