"""`LinkPredictor`: learns from a multiplex, predicts links in its layers and says which layers it looked at."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from pathlib import Path
from time import perf_counter
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from banditplex.answers.explanation import explain, which_layers
from banditplex.answers.quality import mean_auc
from banditplex.answers.ranking import embed, recommend
from banditplex.arrays import Floats, Ints
from banditplex.backend.compiling import threads_for
from banditplex.bandits.arms import to_layer
from banditplex.errors import InputError
from banditplex.estimator import Estimator
from banditplex.io import read
from banditplex.multiplex import Multiplex, Name
from banditplex.nn import Convolution
from banditplex.nn.panels import Panels
from banditplex.pairs.asked import as_pairs, in_own_layers
from banditplex.persistence.checkpoint import Checkpoint
from banditplex.persistence.model_folder import load, save
from banditplex.prediction import FittedModel
from banditplex.terminal import LOG, training_bar, warn
from banditplex.training.calibration import HeldOut
from banditplex.training.config import SETTINGS, Config, Setting, numpydoc
from banditplex.training.default import Find, Learnt, learn, make_networks
from banditplex.training.find import find_panels
from banditplex.training.gains import layer_gains
from banditplex.training.global_state import seeded
from banditplex.training.history import summary
from banditplex.training.loop import Trainer
from banditplex.training.members import Members, while_training

MOST = 10  # rows of the table that a notebook shows, at most
QUICK_GAINS = 20_000  # edges up to which a notebook shows gains that have not been asked for yet: they take seconds


@dataclass(kw_only=True, repr=False, eq=False)
class LinkPredictor(Config, Estimator):
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

    verbose: bool = False

    # Learning

    def fit(
        self,
        mx: "Multiplex | pd.DataFrame | str | Path",
        targets: Sequence[Name] | None = None,
        on_epoch: Callable[[Self, dict[str, Any]], Any] | None = None,
        *,
        on_search: Callable[[float], Any] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> "LinkPredictor":
        """Learn to predict links in the target layers.

        Parameters
        ----------
        mx
            The training graph: nothing else is looked at. A table with a row per edge (`Multiplex.from_pandas`) or the
            path of a file or folder (`banditplex.read`) will do.
        targets
            Layer names. None = every layer with an edge. A named layer may be empty: it is predicted with what the
            other targets have taught the shared weights.
        on_epoch
            Called as on_epoch(model, row) after each epoch, with the means over targets in `row` and one row per
            target in row["layers"]; the model predicts with its present weights. Training ends if it returns True.
        on_search
            Called as on_search(share) while panels are searched for, before the first epoch, with the share that is
            done, 0 to 1.
        checkpoint
            A folder that holds all that is needed to go on, saved at the start and after each epoch, at most once a
            second.
        resume
            Whether to continue from the checkpoint, if there is one; settings and data must be the same, except that
            `epochs` and `patience` may be larger: training then goes on.
        """
        if resume and checkpoint is None:
            raise InputError("Expected checkpoint=, the folder of the run to resume, got none.")
        mx = as_multiplex(mx)

        def searching(share: float) -> None:
            if show is not None:
                show.search(share)
            if on_search is not None:
                on_search(share)

        def after_epoch(rows: list[dict[str, Any]]) -> bool:
            row = summary(rows) | {"epochs": members.count * members.current.epochs, "last": members.finished}
            row |= {"member": members.trainers.index(members.current) + 1, "members": members.count}
            LOG.info("Epoch %d: loss %.4f, validation %.4f", row["epoch"], row["train_loss"], row["validation_loss"])
            if kept is not None:
                kept.after_epoch()
            if show is not None:
                show.epoch(row)
            if on_epoch is None:
                return False
            self._take(members, Learnt(while_training(members.trainers), None))
            stop = on_epoch(self, row) is True
            return members.current.data.group.from_first(lambda: stop)

        with threads_for(mx.num_edges), training_bar(quiet=not self.verbose, lines=True) as show:
            members = self.make_members(mx, targets, partial(find_panels, tell=searching))
            config, data = members.current.config, members.current.data
            unused = not config.weighted and members.current.model.encoder is None
            if unused and mx.weight is not None and np.ptp(mx.weight) > 0:
                warn("Edge weights are not used; the setting weighted makes them count in common neighbours.")
            kept = None if checkpoint is None else Checkpoint(checkpoint, mx, members, arguments=self._arguments())
            LOG.info("Training on %s; %d target layers.", mx.title, len(data.targets))
            turn = seeded(config.seed, "torch", data.device) if config.uses_torch_generators else nullcontext()
            with turn, nullcontext() if kept is None else kept.held():
                if kept is not None:
                    kept.begin(resume=resume)
                self._take(members, learn(members, after_epoch))
        return self

    def make_trainer(self, mx: Multiplex, targets: Sequence[Name] | None = None) -> Trainer:
        """Return the trainer of a first network without panels: checked input, nothing learnt yet."""
        return self.make_members(mx, targets, lambda mx, targets, *_: Panels.none(targets.tolist())).current

    def make_members(self, mx: Multiplex, targets: Sequence[Name] | None = None, find: Find = find_panels) -> Members:
        """Find panels, and return what `fit` runs: the trainer of each network in turn."""
        if not isinstance(mx, Multiplex):
            raise InputError(f"Expected a Multiplex to learn from, got {type(mx).__name__}.")
        return make_networks(mx, targets, self.checked(), find)

    def check_settings(self, mx: Multiplex, targets: Sequence[Name] | None = None) -> None:
        """Refuse settings that `fit` would refuse on this multiplex."""
        device = "cpu" if self.device == "auto" else self.device  # a look needs no GPU
        replace(self, device=device).make_trainer(mx, targets)

    def _take(self, members: Members, learnt: Learnt) -> None:
        self._fitted, self._held_out = learnt
        self._gains_seconds: float | None = None
        self._rows, self._trainer, self._config = members.history, members.current, members.trainers[0].config

    # Predicting

    def score_pairs(self, pairs: ArrayLike, layer: Name, *, context: Multiplex | None = None, draws: int = 0) -> Floats:
        """Return the logits (n,) of pairs (n, 2) of node names in a layer.

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
        fitted, table, target = self._check_fitted(), np.asarray(others, np.int64), np.asarray(layer, np.int64)
        index = as_pairs(fitted.mx, pairs)
        if target.shape != (len(index),) or table.ndim != 2 or len(table) != len(index):
            shapes = f"{target.shape} and {table.shape}"
            raise InputError(f"Expected a layer (n,) and other layers (n, m) for {len(index)} pairs, got {shapes}.")
        every = np.concatenate([target[:, None], table], 1)
        if len(index) and (every.min() < 0 or every.max() >= fitted.mx.num_layers or (every[:, :1] == table).any()):
            raise InputError(f"Expected layer indices below {fitted.mx.num_layers}, none of them a pair's own layer.")
        return fitted.logits_by_layer(index, target, table)

    def predict_proba(
        self,
        pairs: ArrayLike,
        layer: Name | None = None,
        *,
        prior: float | None = None,
        context: Multiplex | None = None,
    ) -> Floats:
        """Return calibrated probabilities (n,) that pairs are links in a layer.

        Without a layer, `pairs` may be a table with columns source, target and layer; if there is one target, it is
        the layer. `prior` is the share of links among the pairs you ask about. None: that of all unknown pairs if every
        tenth link is unknown (`default_prior`). Pairs of node types that the layer does not link have probability 0.

        One number per pair, not the (n, 2) of scikit-learn's classifiers: a pair is a link with this probability, and
        the other column would be 1 less it. Ranking metrics and thresholds want this one.
        """
        fitted = self._check_fitted().within(context)
        if layer is None:
            targets = [fitted.mx.layer_names[target] for target in fitted.targets.tolist()]
            return in_own_layers(pairs, targets, partial(self.predict_proba, prior=prior, context=context))
        return fitted.probability(as_pairs(fitted.mx, pairs), layer, prior)

    def predict(
        self, pairs: ArrayLike, layer: Name | None = None, *, prior: float = 0.5, context: Multiplex | None = None
    ) -> Ints:
        """Return 1 for pairs that are links with a probability of at least .5, and 0 for others, (n,).

        Pairs and layer are those of `predict_proba`. `prior` is the share of links among the pairs you ask about. With
        None, the prior of all unknown pairs, few pairs or none reach .5.
        """
        return (self.predict_proba(pairs, layer, prior=prior, context=context) >= 0.5).astype(np.int64)

    def score(self, mx: "Multiplex | pd.DataFrame | str | Path", y: Any = None) -> float:
        """Return the ROC-AUC of other edges against as many drawn pairs without an edge, the mean over target layers.

        So `GridSearchCV(LinkPredictor(), {...}, cv=5).fit(table)` works. A pair's edges in other layers stay visible.
        Edges of nodes or layers that training has not seen are left out, with a warning: folds are consecutive rows, so
        shuffle a table that is sorted by layer. `evaluate` is more careful.
        """
        fitted = self._check_fitted()
        return mean_auc(fitted, as_multiplex(mx, directed=fitted.mx.directed), fitted.seed)

    def which_layers(
        self, pairs: ArrayLike, *, prior: float | None = None, context: Multiplex | None = None
    ) -> pd.DataFrame:
        """Return in which target layers pairs (n, 2) are likely to be links: the most probable layer of a pair first.

        Columns: source, destination, layer, probability, and whether the edge is known. `prior` as in `predict_proba`.
        """
        fitted = self._check_fitted().within(context)
        return which_layers(fitted, as_pairs(fitted.mx, pairs), prior)

    def explain(self, pairs: ArrayLike, layer: Name, *, context: Multiplex | None = None) -> pd.DataFrame:
        """Return the terms of the logits of pairs (n, 2) in a layer: their sum is what `score_pairs` returns.

        Columns: source, destination, term, layer, value. The term "base" is the mean logit of typical pairs (1,000
        uniform pairs of the layer, taken as linked in no other layer). The others say how far the pair differs from
        them: "own" by its neighbourhood in the target layer and in the union of all layers, "drawn" by its
        neighbourhood in a layer that predictions look at, and "edge" because another layer has the pair ("reverse": the
        other way round). Base and own term of a pair come first, then the largest. If there are several networks, a
        term is the mean of theirs, with that of the regression beside them; vectors are part of the own term.
        """
        fitted = self._check_fitted().within(context)
        return explain(fitted, as_pairs(fitted.mx, pairs), layer)

    def embed(self, layer: Name, *, context: Multiplex | None = None) -> pd.DataFrame:
        """Return the position of every node in a layer, one row per node: for drawings, clusters, other models.

        These are the embeddings of the encoder, or without one (`width=0`) the leading eigenvectors of the layer's
        normalised adjacency matrix, times the roots of their eigenvalues; nodes without an edge are then at 0. If there
        are several networks (`members`), the columns of one encoder come after those of another.
        """
        return embed(self._check_fitted().within(context), layer)

    def density(self, layer: Name, *, context: Multiplex | None = None) -> float:
        """Return the share of known edges among all possible pairs of a layer."""
        return self._check_fitted().within(context).density(layer)

    def default_prior(self, layer: Name, *, context: Multiplex | None = None) -> float:
        """Return the prior where none is given: every tenth link is unknown, one for nine known edges.

        It is a ninth of the known edges, divided by the number of unknown pairs of the layer, and at most 1/2.
        """
        return self._check_fitted().within(context).default_prior(layer)

    def recommend(
        self,
        layer: Name,
        *,
        top: int = 20,
        node: Name | None = None,
        candidates: ArrayLike | None = None,
        exact: bool | None = None,
        prior: float | None = None,
        context: Multiplex | None = None,
        note: Callable[[str], Any] | None = None,
        on_progress: Callable[[int, int], Any] | None = None,
    ) -> pd.DataFrame:
        """Return the `top` most likely new links of a layer: source, destination, probability.

        All pairs that are not known edges are ranked if there are at most 4 million. In larger layers, candidates
        are: pairs linked in other layers, with common neighbours, near each other by position, or of nodes with many
        edges. Memory does not grow with the number of pairs ranked. If nodes have types, only pairs of the types that
        the layer links in training are ranked, unless `candidates` are given.

        Parameters
        ----------
        layer, top
            A target layer, and how many links.
        node
            Rank all pairs of this node; in a directed multiplex, all links from it.
        candidates
            Rank these pairs (n, 2), each once.
        exact
            True: rank all pairs, however many. False: rank candidates, however few pairs there are.
        prior
            The share of links among all unknown pairs of the layer. None: every tenth link is unknown
            (`default_prior`).
        context
            As in `score_pairs`.
        note
            Called with a line that says what is going to be ranked and how long it takes, if there are many pairs.
        on_progress
            Called as on_progress(done, total), numbers of pairs.

        The `attrs` of the result say which prior was assumed ("prior"), which pairs were chosen ("chosen"), how many
        of them there were ("ranked"), and how many pairs the layer has ("possible").
        """
        fitted = self._check_fitted()
        return recommend(
            fitted.within(context), layer, links_of=fitted.mx, top=top, node=node, candidates=candidates, exact=exact,
            prior=prior, note=note, on_progress=on_progress,
        )  # fmt: skip

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

        `gain` is how far the log loss per pair falls when the layer is added to a model of the target layer alone, with
        all its weight or, if that proves nothing, with half of it (`weight`: 1 or .5); `low` and `high` are its limits
        (95 %, for all layers and targets together); `helps` says whether low > 0. Pairs that estimate a gain were not
        used to choose the layer: with at most 40 other layers all are compared, across folds of the edges; with more, 8
        are chosen without the pairs of a fold and tested on that fold. Computed when first asked for.
        """
        names = self._check_fitted().mx.layer_names
        columns = ["target", "layer", "gain", "low", "high", "weight", "helps"]
        table = pd.DataFrame(self._gains(), columns=columns)
        table = table.sort_values(["target", "gain"], ascending=[True, False], kind="stable", ignore_index=True)
        for column in columns[:2]:
            table[column] = [names[index] for index in table[column]]
        return table

    def _gains(self) -> list[dict[str, Any]]:
        fitted = self._check_fitted()
        if fitted.gains is None:
            began = perf_counter()
            with threads_for(fitted.mx.num_edges):
                gains = layer_gains(self._trainer.data, fitted.seed)
            self._gains_seconds = perf_counter() - began
            self._fitted = fitted = replace(fitted, gains=gains)
        assert fitted.gains is not None
        return fitted.gains

    @property
    def gains_seconds_(self) -> float | None:
        """How many seconds it took to compute `layer_gains_`; None before that, and in a loaded model."""
        self._check_fitted()
        return self._gains_seconds

    @property
    def panel_(self) -> pd.DataFrame:
        """The layers that predictions use: one row per target and layer.

        `weight` is the weight of the layer in the graph that is pooled from the target and its panel; `term` says
        whether the layer has a term of its own in the logit. Layers with a term alone have weight 0, the most probable
        first.
        """
        fitted = self._check_fitted()
        rows = {(target, layer): weight for target, layer, weight in fitted.panels.rows()}
        used = zip(fitted.targets.tolist(), fitted.layers.tolist(), fitted.counts, strict=True)
        terms = dict.fromkeys(((target, layer) for target, layers, count in used for layer in layers[:count]), 0.0)
        names, every = fitted.mx.layer_names, {**rows, **{pair: 0.0 for pair in terms if pair not in rows}}
        order = {target: place for place, target in enumerate(fitted.targets.tolist())}
        table = [
            (names[target], names[layer], weight, (target, layer) in terms)
            for (target, layer), weight in sorted(every.items(), key=lambda row: (order[row[0][0]], -row[1]))
        ]
        return pd.DataFrame(table, columns=["target", "layer", "weight", "term"])

    @property
    def k_(self) -> pd.Series:
        """How many other layers predictions in each target use: the rows of `panel_`."""
        fitted = self._check_fitted()
        count = self.panel_["target"].value_counts()
        names = [fitted.mx.layer_names[target] for target in fitted.targets]
        return pd.Series([int(count.get(name, 0)) for name in names], index=names, name="k")

    @property
    def layer_probabilities_(self) -> pd.DataFrame:
        """How likely each policy is to draw each layer: target x layer; rows sum to the number of layers drawn."""
        fitted = self._check_fitted()
        names = fitted.mx.layer_names
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
        self._check_fitted()
        return self._held_out

    # Keeping

    def save(self, folder: str | Path) -> None:
        """Write the model and the training graph to a folder: safetensors and JSON."""
        self._gains()
        save(folder, self._check_fitted(), self._config, self._rows, self._arguments())

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto", conv: Convolution | None = None) -> "LinkPredictor":
        """Read a model that `save` wrote; it predicts without the training data."""
        fitted, config, history, arguments = load(folder, device=device, conv=conv)
        model = cls(**config.values() | arguments)
        model._fitted, model._config, model._rows, model._held_out = fitted, config, history, None
        model._gains_seconds = None
        return model

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: what `save` writes, and nothing of training but its results."""
        if not hasattr(self, "_fitted"):
            return dict(vars(self))
        self._gains()
        state = {name: value for name, value in vars(self).items() if name != "_trainer"}
        return state | {"_fitted": replace(self._fitted, source=self._fitted.view)}

    def _repr_html_(self) -> str:
        """Return what a notebook shows: which layers help."""
        if not hasattr(self, "_fitted"):
            return f"<pre>{escape(repr(self))}</pre>"
        quick = self._fitted.gains is not None or self._fitted.mx.num_edges <= QUICK_GAINS
        return as_html(self._fitted.mx.title, self.layer_gains_ if quick else None)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments of the constructor that training resolves, as they were given."""
        return {name: getattr(self, name) for name in ("hide", "policy_options")}

    def _check_fitted(self) -> FittedModel:
        if not hasattr(self, "_fitted"):
            from banditplex.answers.not_fitted import NotFitted

            raise NotFitted("Expected a fitted LinkPredictor, got one that is not fitted: call fit first.")
        return self._fitted

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")


_ALSO = {"verbose": Setting(False, "Whether `fit` shows a progress bar or, without a terminal, a line per tenth.")}
if LinkPredictor.__doc__:  # python -OO has none
    _PARAMETERS = numpydoc(SETTINGS | _ALSO).replace("\n", "\n    ")
    LinkPredictor.__doc__ = LinkPredictor.__doc__.replace("{parameters}", _PARAMETERS)


def as_multiplex(data: Any, *, directed: bool = False) -> Multiplex:
    """Return data to learn from as a multiplex: whatever `banditplex.read` takes; `directed` says how to read it."""
    if isinstance(data, Multiplex):
        return data
    return read(data, directed=True) if directed else read(data)


def as_html(title: str, gains: pd.DataFrame | None) -> str:
    """Return a model that was fitted to a multiplex of this title, with its `layer_gains_`; None: not measured yet."""
    head = f"<p><b>LinkPredictor</b>, fitted to {escape(title)}</p>"
    if gains is None:
        return f"{head}<p><code>model.layer_gains_</code> measures which layers help.</p>"
    helping = gains[gains["helps"]].sort_values("gain", ascending=False, kind="stable")
    if helping.empty:
        return f"{head}<p>No other layer helps.</p>"
    table = helping.head(MOST)[["target", "layer", "gain", "low", "high"]].rename(columns={"layer": "is helped by"})
    shown = table.to_html(index=False, border=0, float_format="{:.3f}".format)
    more = f"<p>And {len(helping) - MOST} more: <code>model.layer_gains_</code>.</p>" if len(helping) > MOST else ""
    return f"{head}{shown}{more}"
