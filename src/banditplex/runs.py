"""Runs: a folder in which a model is trained, checkpoint by checkpoint, and from which it then predicts."""

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditplex.bandits.base import POLICIES, SIZES
from banditplex.errors import InputError
from banditplex.persistence.checkpoint import FILE, read_checkpoint
from banditplex.persistence.model_folder import FILES, INDEX
from banditplex.persistence.tree import draft_of

if TYPE_CHECKING:
    import pandas as pd

    from banditplex.multiplex import Multiplex, Name
    from banditplex.predictor import LinkPredictor

SEPARATOR = {".csv": ",", ".tsv": "\t"}

TARGET_COLUMNS = ["target", "validation loss", "accuracy", "layers looked at, with their probability"]


# Training


def train(
    mx: "Multiplex",
    folder: Path,
    *,
    targets: Sequence[str] | None = None,
    layers: Sequence[str] | None = None,
    prices: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    resume: bool = False,
    force: bool = False,
    on_epoch: "Callable[[LinkPredictor, dict[str, Any]], Any] | None" = None,
) -> "LinkPredictor":
    """Fit a model on a multiplex in a folder, with a checkpoint after each epoch, and save it there.

    `layers` ("a,b") are those that the policy "fixed" looks at, `prices` ("a=3") what they cost for "cost-aware". With
    `resume` the run of that folder goes on, if there is one: what `targets` and `settings` leave open is as it was.
    With `force` a run that is there makes way.
    """
    from banditplex.predictor import LinkPredictor

    chosen = None if not targets else [as_name(target, mx.layer_names) for target in targets]
    options = with_layers(dict(settings or {}), layers, prices, mx.layer_names)
    if resume and begun(folder):
        kept = read_checkpoint(folder / FILE)["identity"]["settings"]
        before = kept.pop("targets")
        chosen, options = chosen or before, kept | options
    model = LinkPredictor(**options)
    check_place(folder, resume=resume, force=force)
    if force and occupied(folder):
        model.make_trainer(mx, chosen)  # refuses bad input before anything is removed
        clear(folder)
    model.fit(mx, chosen, on_epoch, checkpoint=folder, resume=resume)
    model.save(folder)
    return model


def check_place(folder: Path, *, resume: bool = False, force: bool = False) -> None:
    """Refuse a folder for a run that holds something which is neither gone on with nor replaced."""
    if resume and force:
        raise InputError("Expected --resume, which goes on with a run, or --force, which replaces it, got both.")
    if force or not occupied(folder):
        return
    if not begun(folder):
        raise InputError(f"{folder}: expected a new or empty folder, or one with {FILE} to go on with.")
    if not resume:
        raise InputError(f"{folder}: exists; continue it with --resume, or begin anew with --force.")
    read_checkpoint(folder / FILE)  # refuses what is damaged


def begun(folder: Path) -> bool:
    """Say whether there is a run to go on with."""
    return (folder / FILE).exists()


def occupied(folder: Path) -> bool:
    """Say whether something stands where a run would go; an empty folder, or a draft that was cut off, does not."""
    if not folder.is_dir():
        return folder.exists()
    return any(path != draft_of(folder / FILE) for path in folder.iterdir())


def clear(folder: Path) -> None:
    """Remove the files of a run, and no others."""
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder, got a file.")
    for name in (INDEX, FILE, *FILES):
        for path in (folder / name, draft_of(folder / name)):
            path.unlink(missing_ok=True)


def where_it_stopped(folder: Path, again: str) -> str:
    """Say after which epoch a run was stopped, and which command goes on with it."""
    try:
        epoch = read_checkpoint(folder / FILE)["state"]["epoch"]
    except InputError:
        return "stopped before training began."
    return f"stopped after epoch {epoch}; go on with: {again}"


def parse_options(texts: Sequence[str] | None) -> dict[str, Any] | None:
    """Return options of a policy, each given as key=value; values are JSON, or else strings.

    >>> parse_options(["raw_range=true", "arms=[0, 2]", "policy=exp3"])
    {'raw_range': True, 'arms': [0, 2], 'policy': 'exp3'}
    """
    options: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InputError(f"Expected --policy-option KEY=VALUE, got {text!r}.")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options or None


def with_layers(
    settings: dict[str, Any], layers: Sequence[str] | None, prices: Sequence[str] | None, names: "Sequence[Name]"
) -> dict[str, Any]:
    """Return settings with the layers that a policy was told of on the command line; they also say which policy.

    >>> with_layers({"k": 1}, ["a,b"], None, ["a", "b", "c"])
    {'k': 1, 'policy': 'fixed', 'policy_options': {'layers': ['a', 'b']}}
    >>> with_layers({}, None, ["a=3", "b=0.5"], ["a", "b", "c"])
    {'policy': 'cost-aware', 'policy_options': {'prices': {'a': 3.0, 'b': 0.5}}}
    """
    for policy, given in _told(layers, prices, names).items():
        if settings.get("policy", policy) != policy:
            flag = "--layers" if policy == "fixed" else "--price"
            raise InputError(f"Expected {flag} with --policy {policy}, got it with --policy {settings['policy']}.")
        settings |= {"policy": policy, "policy_options": (settings.get("policy_options") or {}) | given}
    return settings


def compared(
    policies: Sequence[str],
    mx: "Multiplex",
    *,
    settings: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    layers: Sequence[str] | None = None,
    prices: Sequence[str] | None = None,
) -> "dict[str, LinkPredictor]":
    """Return a model per policy, by its name.

    Each of `options` is for the policies that take it. `layers` and `prices`, as in `with_layers`, are for "fixed" and
    "cost-aware", which are compared then whether they were named or not.
    """
    from banditplex.predictor import LinkPredictor

    for name in policies:
        _ = POLICIES[name]  # refuses what it does not know
    if len(set(policies)) != len(policies):
        raise InputError(f"Expected different policies, got {','.join(policies)}.")
    told = _told(layers, prices, mx.layer_names)
    names = [*policies, *(policy for policy in told if policy not in policies)]
    chosen: dict[str, dict[str, Any]] = {name: dict(told.get(name, {})) for name in names}
    for option, value in (options or {}).items():
        for name in _takers(names, option):
            chosen[name][option] = value
    return {name: LinkPredictor(policy=name, policy_options=chosen[name] or None, **settings or {}) for name in names}


def _takers(policies: Sequence[str], option: str) -> list[str]:
    """Return the policies that have an option or, if none has, those that hand it on to another policy."""
    parameters = {name: signature(POLICIES[name]).parameters for name in policies}
    having = [name for name in policies if option in parameters[name]]
    open_ended = [name for name in policies if any(p.kind is Parameter.VAR_KEYWORD for p in parameters[name].values())]
    takers = [] if option in SIZES else having or open_ended
    if not takers:
        raise InputError(f"Expected an option of {' or '.join(policies)} as --policy-option, got {option!r}.")
    return takers


def _told(
    layers: Sequence[str] | None, prices: Sequence[str] | None, names: "Sequence[Name]"
) -> dict[str, dict[str, Any]]:
    """Return what policies are told of layers on the command line, by policy."""
    told: dict[str, dict[str, Any]] = {}
    if layers:
        parts = [part for text in layers for part in ([text] if text in names else text.split(","))]
        told["fixed"] = {"layers": [as_name(part, names) for part in parts]}
    if prices:
        told["cost-aware"] = {"prices": dict(_parse_price(text, names) for text in prices)}
    return told


def _parse_price(text: str, names: "Sequence[Name]") -> "tuple[Name, float]":
    layer, _, price = text.rpartition("=")
    try:
        number = float(price)
    except ValueError:
        number = math.nan
    if not layer or not 0 < number < math.inf:
        raise InputError(f"Expected --price LAYER=NUMBER with a number above 0, got {text!r}.")
    return as_name(layer, names), number


def describe(model: "LinkPredictor", folder: Path) -> dict[str, Any]:
    """Return what came out of a run: epochs, and for each target its validation and the layers it looks at."""
    state = read_checkpoint(folder / FILE)["state"]
    best = state["best"]["chosen"] or state["epoch"]
    rows = {row["layer"]: row for row in state["history"] if row["epoch"] == best}
    table = model.layer_probabilities_
    return {
        "epochs": state["epoch"],
        "best_epoch": best,
        "targets": [
            {
                "target": target,
                "validation_loss": _known(rows[target]["validation_loss"]),
                "validation_accuracy": _known(rows[target]["validation_accuracy"]),
                "layer_probabilities": table.loc[target].drop(target).sort_values(ascending=False).to_dict(),
            }
            for target in table.index
        ],
    }


def target_rows(result: dict[str, Any], *, limit: int) -> list[list[Any]]:
    """Return a line per target for a table: what `describe` says, with the three most probable layers."""
    rows = []
    for entry in result["targets"][:limit]:
        likely = list(entry["layer_probabilities"].items())[:3]
        shown = ", ".join(f"{name} {probability:.2f}" for name, probability in likely)
        rows.append([entry["target"], entry["validation_loss"], entry["validation_accuracy"], shown])
    more = len(result["targets"]) - limit
    return rows + [[f"... {more} more", "", "", ""]] * (more > 0)


def in_words(result: dict[str, Any]) -> str:
    """Return the length of a training as a sentence."""
    epochs, best = result["epochs"], result["best_epoch"]
    chosen = "" if best == epochs else f", weights of epoch {best}, the last that was as good as the best in validation"
    return f"{epochs} epoch{'s' * (epochs != 1)}{chosen}."


# Predicting


def load(folder: Path, *, device: str = "auto") -> "LinkPredictor":
    """Return the model of a run; one whose training has not ended is refused."""
    from banditplex.predictor import LinkPredictor

    if not (folder / INDEX).exists() and begun(folder):
        raise InputError(f"{folder}: training has not ended; `banditplex train DATA -o {folder} --resume` goes on.")
    return LinkPredictor.load(folder, device=device)


def predict(
    model: "LinkPredictor",
    layer: str,
    *,
    pairs: Path | None = None,
    columns: Mapping[str, str] | None = None,
    top: int | None = None,
    prior: float = 0.5,
) -> "pd.DataFrame":
    """Return a table of the pairs of a file, or of the `top` most likely new links, with probability and score."""
    import pandas as pd

    from banditplex.io.pair_table import read_pairs

    mx = model.multiplex_
    name = as_name(layer, mx.layer_names)
    if pairs is None:
        table = model.recommend(name, top=top or 0, prior=prior)
    else:
        table = pd.DataFrame(read_pairs(pairs, mx, columns=columns), columns=["source", "destination"])
        table["probability"] = model.predict_proba(_as_array(table), name, prior=prior)
    return table.assign(score=model.score_pairs(_as_array(table), name) if len(table) else pd.Series(dtype=float))


def check_table(path: Path, *, force: bool = False) -> None:
    """Refuse a name for a table that says no format, or one that stands already, unless `force` replaces it."""
    _ending(path)
    if not path.parent.is_dir():
        raise InputError(f"{path}: expected the folder {path.parent} to exist.")
    if path.exists() and not force:
        raise InputError(f"{path}: exists; --force replaces it.")


def write_table(table: "pd.DataFrame", path: Path, *, force: bool = False) -> None:
    """Write a table as CSV, TSV or Parquet, as the ending says; what stands there is replaced only with `force`."""
    check_table(path, force=force)
    ending = _ending(path)
    draft = path.with_name(path.name + ".new")
    try:
        if ending == ".parquet":
            table.to_parquet(draft, index=False)
        else:
            table.to_csv(draft, index=False, sep=SEPARATOR[ending])
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written: {error.strerror or error}.") from None


def as_name(text: str, names: "Iterable[Name]") -> "Name":
    """Return what was typed as a name of the kind that `names` are: strings or integers.

    >>> as_name("7", (1, 2)), as_name("7", ("a", "b"))
    (7, '7')
    """
    integers = all(isinstance(name, int) for name in names)
    return int(text) if integers and text.lstrip("-").isdigit() else text


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in (*SEPARATOR, ".parquet"):
        raise InputError(f"{path}: expected a name that ends in .csv, .tsv or .parquet.")
    return ending


def _as_array(table: "pd.DataFrame") -> Any:
    return table[["source", "destination"]].to_numpy()
