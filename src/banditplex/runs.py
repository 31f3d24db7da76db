"""Runs: a folder in which a model is trained, checkpoint by checkpoint, and from which it then predicts."""

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditplex.errors import FormatError, InputError
from banditplex.training.checkpoint import FILE, read_checkpoint
from banditplex.training.files import FILES, INDEX

if TYPE_CHECKING:
    import pandas as pd

    from banditplex.multiplex import Multiplex, Name
    from banditplex.predictor import LinkPredictor

SEPARATOR = {".csv": ",", ".tsv": "\t"}
DESTINATION = ("destination", "target")
"""What the column of an edge's second node may be called."""


TARGET_COLUMNS = ["target", "validation loss", "accuracy", "layers looked at, with their probability"]


# Training


def train(
    mx: "Multiplex",
    folder: Path,
    *,
    targets: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    resume: bool = False,
    force: bool = False,
    on_epoch: "Callable[[LinkPredictor, dict[str, Any]], Any] | None" = None,
) -> "LinkPredictor":
    """Fit a model on a multiplex in a folder, with a checkpoint after each epoch, and save it there.

    With `resume` the run of that folder goes on: what `targets` and `settings` leave open is as it was. With `force`
    a run that is there makes way.
    """
    from banditplex.predictor import LinkPredictor

    chosen = None if not targets else [as_name(target, mx.layer_names) for target in targets]
    options = dict(settings or {})
    if resume:
        kept = read_checkpoint(folder / FILE)["identity"]["settings"]
        before = kept.pop("targets")
        chosen, options = chosen or before, kept | options
    model = LinkPredictor(**options)
    if not resume and occupied(folder):
        if not force:
            raise InputError(f"{folder}: exists; continue it with --resume, or begin anew with --force.")
        model.make_trainer(mx, chosen)  # refuses bad input before anything is removed
        clear(folder)
    model.fit(mx, chosen, on_epoch, checkpoint=folder, resume=resume)
    model.save(folder)
    return model


def occupied(folder: Path) -> bool:
    """Say whether something stands where a run would go; an empty folder, or a draft that was cut off, does not."""
    if not folder.is_dir():
        return folder.exists()
    return any(path.name != f"{FILE}.new" for path in folder.iterdir())


def clear(folder: Path) -> None:
    """Remove the files of a run, and no others."""
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder, got a file.")
    for name in (INDEX, FILE, *FILES):
        (folder / name).unlink(missing_ok=True)


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
    best = result["best_epoch"]
    chosen = (
        ""
        if best == result["epochs"]
        else f", weights of epoch {best}, the last that was as good as the best in validation"
    )
    return f"{result['epochs']} epochs{chosen}."


# Predicting


def load(folder: Path, *, device: str = "auto") -> "LinkPredictor":
    """Return the model of a run; one whose training has not ended is refused."""
    from banditplex.predictor import LinkPredictor

    if not (folder / INDEX).exists() and (folder / FILE).exists():
        raise InputError(f"{folder}: training has not ended; `banditplex train DATA -o {folder} --resume` goes on.")
    return LinkPredictor.load(folder, device=device)


def predict(
    model: "LinkPredictor", layer: str, *, pairs: Path | None = None, top: int | None = None, prior: float = 0.5
) -> "pd.DataFrame":
    """Return a table of the pairs of a file, or of the `top` most likely new links, with probability and score."""
    import pandas as pd

    mx = model.multiplex_
    name = as_name(layer, mx.layer_names)
    if (pairs is None) == (top is None):
        raise InputError("Expected either --pairs FILE or --top N.")
    if pairs is None:
        table = model.recommend(name, top=top or 0, prior=prior)
    else:
        table = read_pairs(pairs, mx)
        table["probability"] = model.predict_proba(_as_array(table), name, prior=prior)
    return table.assign(score=model.score_pairs(_as_array(table), name) if len(table) else pd.Series(dtype=float))


def read_pairs(path: Path, mx: "Multiplex") -> "pd.DataFrame":
    """Return the pairs of a CSV, TSV or Parquet file with columns source and target (or destination), as node names."""
    table = _read_table(path)
    second = next((name for name in DESTINATION if name in table), None)
    if "source" not in table or second is None:
        raise FormatError(f"expected columns source and target, got {', '.join(map(str, table.columns))}", path=path)
    table = table[["source", second]].set_axis(["source", "destination"], axis=1).astype(str).astype(object)
    integers = mx.node_names.dtype != object
    known = {str(name): name for name in mx.node_names.tolist()}
    for column in table:
        unknown = ~table[column].isin(known)
        if unknown.any():
            row = int(unknown.to_numpy().argmax())
            line = row + 2 if path.suffix.lower() in SEPARATOR else None
            raise FormatError(
                f"expected a node of the training graph, got {table[column][row]!r}", path=path, line=line
            )
        table[column] = table[column].map(known) if integers else table[column]
    return table


def write_table(table: "pd.DataFrame", path: Path, *, force: bool = False) -> None:
    """Write a table as CSV, TSV or Parquet, as the ending says; what stands there is replaced only with `force`."""
    if path.exists() and not force:
        raise InputError(f"{path}: exists; --force replaces it.")
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


def _read_table(path: Path) -> "pd.DataFrame":
    import pandas as pd

    ending = _ending(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file.")
    try:
        if ending == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, sep=SEPARATOR[ending], dtype=str, keep_default_na=False)
    except (ValueError, OSError) as error:  # what pandas and pyarrow raise for files they cannot read
        raise FormatError(f"expected a table, got: {' '.join(str(error).split())}", path=path) from None


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in (*SEPARATOR, ".parquet"):
        raise InputError(f"{path}: expected a name that ends in .csv, .tsv or .parquet.")
    return ending


def _as_array(table: "pd.DataFrame") -> Any:
    return table[["source", "destination"]].to_numpy()
