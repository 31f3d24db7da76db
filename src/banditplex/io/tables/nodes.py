"""Tables about nodes (CSV, TSV, Excel or Parquet): attributes, and pairs of nodes to score."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd
import pyarrow as pa

from banditplex.arrays import Ints
from banditplex.errors import FormatError, InputError
from banditplex.io.tables.files import load, read_whole
from banditplex.multiplex import Multiplex, Name
from banditplex.multiplex.cells import Origin, folded, tidy
from banditplex.multiplex.join import FEATURE_NAMES
from banditplex.multiplex.names import Names, as_names, check_distinct, no_target
from banditplex.multiplex.notes import note
from banditplex.multiplex.options import TableOptions
from banditplex.multiplex.roles import ENDS_AND_LAYER, PAIR_ROLES, are_dates
from banditplex.multiplex.table import stem

ROLES = {"id": ("id", "node", "node_id", "nodeid"), "type": ("type", "node_type", "kind"), "name": ()}
"""From the role of a column to its usual names; a column of names must be given."""
LABELS = ("label", "name")  # columns that may have the names of nodes
FEW = 50  # distinct values that a column of texts may have: each becomes a feature that is 1 or 0
ROWS_EACH = 3  # rows per distinct value, at least, that make a column of texts a choice of features if nobody names it


def with_node_table(
    mx: Multiplex, path: str | Path, columns: Mapping[str, str] | None = None, *, fold_case: bool = False,
    max_size: int | None = None,
) -> Multiplex:  # fmt: skip
    """Return a multiplex with the node types, features and names of a table, which has a row per node.

    Nodes of the table that `mx` lacks become nodes without edges. `columns` names its columns: `id` (by default id,
    node, node_id, or the first column), `type` (type, node_type, kind), `name` (new names of nodes) and `features`
    (names joined by "+"; by default all other columns of numbers, and of texts with few distinct values, each of which
    is a feature that is 1 or 0). An empty name stands for no column. With `fold_case`, an id may differ from the name
    of its node by case or spaces. `max_size`: bytes that the table may grow to; None: 64 MiB, or 100 times its size.
    """
    path = Path(path)
    frame, given = read_whole(path, TableOptions(max_size=max_size)), dict(columns or {})
    found = {role: _choose(frame, role, given, path) for role in ROLES}
    ids = _ids(frame[found["id"] or frame.columns[0]], mx, path)
    if ids.dtype == object:
        place = NodeFinder(mx.node_names, fold_case=fold_case).find(ids)
        tidied = tidy(pa.array(ids, pa.string())).to_pylist()
        ids = np.where(place < 0, tidied, np.append(mx.node_names, "")[place])
    taken = [name for name in found.values() if name] or [frame.columns[0]]
    rest = frame.drop(columns=taken, errors="ignore").dropna(axis=1, how="all")  # Gephi's column timeset is empty
    features, unused = _features(rest, given.get("features"), path)
    mx, rows = _align(mx, ids, path)
    if features.shape[1]:
        mx = mx.with_node_features(features.to_numpy(np.float64)[rows])
        mx = mx.with_metadata(**{FEATURE_NAMES: [str(name) for name in features]})
    if found["type"]:
        mx = mx.with_node_types(frame[found["type"]].map(str).to_numpy(object)[rows])
    if found["name"]:
        names = frame[found["name"]].map(str).to_numpy(object)[rows]
        mx = replace(mx, node_names=check_distinct(names, "node"))
    unused = {name: why for name, why in unused.items() if name != frame.columns[0]}
    if unused:
        listed = ", ".join(f"{name}{f' ({why})' * bool(why)}" for name, why in unused.items())
        labels = [name for name in unused if str(name).strip().casefold() in LABELS and not found["name"]]
        if labels:  # as Gephi writes them
            listed += f"; if {labels[0]!r} has the names of nodes, say node_columns={{'name': {labels[0]!r}}}"
        note(f"{path}: columns not used: {listed}.")
    return mx


def _choose(frame: pd.DataFrame, role: str, given: Mapping[str, str], path: Path) -> Any:
    wanted = given.get(role)
    names = ROLES[role] if wanted is None else (wanted,)
    by_name = {str(name).strip().casefold(): name for name in frame}
    chosen: Any = next((by_name[name.casefold()] for name in names if name.casefold() in by_name), None)
    if wanted and chosen is None:
        raise FormatError(f"expected a column {wanted!r} as {role}, got {', '.join(map(repr, frame))}", path=path)
    return chosen


def _ids(column: pd.Series, mx: Multiplex, path: Path) -> Any:
    """Return the ids of nodes, as names of the same kind as those of the multiplex."""
    if column.isna().any():
        row = int(np.argmax(column.isna()))
        raise FormatError(f"expected a node in column {column.name!r}, got an empty cell", path=path, row=row + 1)
    if mx.node_names.dtype != object:
        numbers = pd.to_numeric(column, errors="coerce")
        fits = (numbers == np.floor(numbers)) & (numbers >= -(2.0**63)) & (numbers < 2.0**63)
        if not fits.all():
            row = int(np.argmin(fits))
            what = f"an integer in column {column.name!r}, as in the edges"
            raise FormatError(f"expected {what}, got {column.iloc[row]!r}", path=path, row=row + 1)
        return numbers.to_numpy(np.int64)
    whole = column.dtype.kind == "f" and np.isfinite(column).all() and (column == np.floor(column)).all()
    return (column.astype(np.int64) if whole else column).map(str).to_numpy(object)


def _features(frame: pd.DataFrame, given: str | None, path: Path) -> tuple[pd.DataFrame, dict[Any, str]]:
    """Return a column for each feature, and the columns that are not used, with the reason if nobody chose others."""
    wanted: Sequence[Any] = list(frame) if given is None else given.split("+") if given else ()
    missing = next((name for name in wanted if name not in frame), None)
    if missing is not None:
        raise FormatError(f"expected a column {missing!r} as feature, got {', '.join(map(repr, frame))}", path=path)
    parts, plain, told, unused = [], [], [], dict.fromkeys((name for name in frame if name not in wanted), "")
    for name in wanted:
        column = frame[name]
        if column.dtype.kind in "iufb":
            if not (finite := np.isfinite(column)).all():
                row = int(np.argmin(finite))
                got = "an empty cell" if np.isnan(column.iloc[row]) else str(column.iloc[row])
                other = "; node_columns={'features': 'NAME+NAME'} chooses others"
                raise FormatError(f"expected numbers as feature {name!r}, got {got}{other}", path=path, row=row + 1)
            parts.append(column.rename(str(name)))
            plain.append(str(name))
            continue
        texts = column.map(lambda cell: str(cell).strip() or None, na_action="ignore")
        why = _no_choice(column, texts, name, asked=given is not None)
        if why and given is not None:
            expected = f"numbers, or texts of at most {FEW} values, as feature {name!r}"
            raise FormatError(f"expected {expected}, {why}", path=path)
        if why:
            unused[name] = why
            continue
        values = sorted(texts.dropna().unique())
        parts += [(texts == value).rename(f"{name}={value}") for value in values]
        blank = int(texts.isna().sum())
        without = f" ({blank:,} row{'s' * (blank > 1)} without)" if blank else ""
        told.append(f"{name}: {len(values)} values, one feature each{without}")
    if parts and (given is None or told):
        listed = [", ".join(plain)] * bool(plain) + told
        note(f"{path}: node features are {'; '.join(listed)}.")
    return pd.concat(parts, axis=1) if parts else frame[[]], unused


def _no_choice(column: pd.Series, texts: pd.Series, name: Any, *, asked: bool) -> str:
    """Return why texts are not one of a few values each, empty if they are; `asked`: somebody has named the column."""
    filled = texts.dropna()
    numbers = pd.to_numeric(filled, errors="coerce")
    if column.dtype.kind == "M" or are_dates(filled.tolist()):
        return "got dates"
    if len(filled) and numbers.notna().all():
        return "got numbers that are texts"
    if 2 * numbers.notna().sum() > len(filled):
        return f"got {filled[numbers.isna()].iloc[0]!r} among numbers"
    count = filled.nunique()
    if count > FEW or (not asked and ROWS_EACH * count > len(filled)):
        return f"got {count:,} values in {len(filled):,} rows"
    if not asked and str(name).strip().casefold() in LABELS:
        return "names"
    return "" if count > 1 else "got a single value"


def _align(mx: Multiplex, ids: Any, path: Path) -> tuple[Multiplex, Any]:
    """Return the multiplex with all nodes of the table, and the row of each node."""
    index = pd.Index(ids)
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        raise FormatError(f"expected one row per node, got {twice!r} more than once", path=path)
    missing = ~np.isin(mx.node_names, ids) if len(mx.node_names) else np.zeros(0, np.bool_)
    if missing.any():
        first = mx.node_names[int(np.argmax(missing))]
        raise FormatError(f"expected a row for every node, got none for {missing.sum():,}, as {first!r}", path=path)
    new = ids[~np.isin(ids, mx.node_names)]
    if len(new):
        note(f"{path}: {len(new):,} node{'s' * (len(new) > 1)} without edges, as {new[0]}.")
        mx = mx.with_edges(Multiplex.from_edges([], [], [], node_names=new, directed=mx.directed))
    return mx, index.get_indexer(mx.node_names)


_WHOLE = re.compile(r"^(0|-?[1-9][0-9]*)[.]0+$")


class NodeFinder:
    """Finds nodes by what is written for them, as reading does: " anna" for anna, 7.0 for 7, with `fold_case` ANNA."""

    def __init__(self, names: Names, *, fold_case: bool = False) -> None:
        self._known = {str(name): index for index, name in enumerate(names.tolist())}
        self._folded: dict[str, int] = {}
        if fold_case and names.dtype == object:
            self._folded = dict(zip(folded(names).to_pylist(), range(len(names)), strict=True))

    def find(self, texts: Sequence[str], kind: str = "") -> Ints:
        """Return the index of each node, -1 if there is none; of nodes named as in "user/7", 7 is enough as a user."""
        folds = folded(tidy(pa.array(texts, pa.string()))).to_pylist() if self._folded else texts
        return np.array([self._find(*each, kind) for each in zip(texts, folds, strict=True)], np.int64)

    def _find(self, text: str, fold: str, kind: str) -> int:
        tidied = normalize("NFC", text.strip())
        whole = _WHOLE.sub(r"\1", tidied)
        names = text, tidied, whole, f"{kind}/{tidied}", f"{kind}/{whole}"
        found = next((self._known[name] for name in names if name in self._known), None)
        return self._folded.get(fold, self._folded.get(f"{kind}/{fold}", -1)) if found is None else found


def read_pairs(
    path: Path, mx: Multiplex, *, columns: Mapping[str, Any] | None = None, fold_case: bool = False,
    targets: Sequence[Name] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return the pairs of a file, source and destination by name; each must be two different nodes of `mx`.

    With `targets`, the table may have a column of layers, each of them one of these, and the result then has it, too.
    `columns` gives the names of these columns, or tuples of names. Other columns are ignored. Of nodes named as in
    "user/7", the id is enough in a column called user or user_id. With `fold_case`, names may differ from those of
    nodes by case or spaces.
    """
    if not path.is_file():
        raise InputError(f"{path}: {'expected a file, got a folder' if path.is_dir() else 'no such file'}.")
    try:
        roles = PAIR_ROLES if targets is None else ENDS_AND_LAYER
        part = load(path, TableOptions(**(columns or {})), roles=roles)
    except FormatError as error:
        raise InputError(str(error).partition("; missing=")[0]) from None  # no row is left out: each has an answer
    table, origin = part.table, part.origin
    finder = NodeFinder(mx.node_names, fold_case=fold_case)
    pairs = np.stack([_index(table[role], role, finder, mx.node_index, origin) for role in PAIR_ROLES], axis=1)
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        row = int(np.argmax(same))
        raise origin.error(f"expected two different nodes, got {table['source'][row].as_py()!r} twice", row)
    found = pd.DataFrame(mx.node_names[pairs], columns=PAIR_ROLES)
    if "layer" in table.column_names:
        names = as_names(list(targets or ()), "layer")

        def refuse(layer: list[Name]) -> None:
            raise no_target(layer[0], names.tolist())

        finder = NodeFinder(names, fold_case=fold_case)
        found["layer"] = names[_index(table["layer"], "layer", finder, refuse, origin)]
    return found


def _index(
    column: pa.ChunkedArray, role: str, finder: NodeFinder, refuse: Callable[[list[Name]], Any], origin: Origin
) -> Ints:
    """Return the indices of the names in a column, each distinct one looked up once; `refuse` those not found."""
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    tokens = encoded.dictionary.to_pylist()
    kind = stem(str(origin.columns[role]))  # of nodes named as in user/7
    found: Ints = finder.find(tokens, kind)[encoded.indices.to_numpy()]
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        try:
            refuse([tokens[encoded.indices[row].as_py()]])
        except InputError as error:
            raise origin.error(str(error), row, role) from None
    return found
