"""DATA of the commands: a data set by name, or a file or folder, with the same options for all commands.

Messages of the library name Python parameters; `in_flags` translates them into these and other options.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from banditplex.cli.options import add_options, option
from banditplex.errors import InputError
from banditplex.multiplex.notes import notes_of, show_files
from banditplex.multiplex.roles import ALIAS, ALSO, EDGE_ROLES, PAIR_ROLES
from banditplex.terminal import progress, say
from banditplex.training.config import SETTINGS

if TYPE_CHECKING:
    from banditplex.evaluation import FixedSplit
    from banditplex.multiplex import Multiplex, Name


def _size(text: str) -> int:
    """Return a number of bytes, given as 500, 64M or 2G."""
    found = re.fullmatch(r"(\d{1,15})([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a size such as 64M or 2G.")
    return int(found[1]) << 10 * " KMGT".index(found[2].upper() or " ")


def _option(kind: Any, *words: str, **more: Any) -> Any:
    return Annotated[kind, option(*words, rich_help_panel="How to read DATA", **more)]


DATA = typer.Argument(
    metavar="DATA", help="Name of a data set, path of a file or folder, or several tables: each is a layer."
)
Data = Annotated[list[str], DATA]
_TEXT, _TEXTS, _SWITCH, _NUMBER = str | None, list[str] | None, bool | None, int | None
READING = {
    "from_format": _option(_TEXT, "--from", "Format of DATA, if name and content do not show it.", "FORMAT"),
    "columns": _option(
        _TEXTS,
        "Column names of a table: source=from, target=to, layer, weight, time; numbers without a header; layer= for no "
        "column. May be repeated, with other names for other files.",
        "ROLE=NAME,..",
    ),
    "wide": _option(_SWITCH, "--wide", "Each column of numbers, or of yes and no, is a layer of its own."),
    "matrix": _option(
        _SWITCH, "--matrix", "Tables are adjacency matrices, a layer per file, with names in row and column 1."
    ),
    "header": _option(_SWITCH, "--header/--no-header", "Whether files start with column names."),
    "delimiter": _option(_TEXT, "Column separator of a CSV file; tab for tabs. Default: guessed.", "CHAR"),
    "decimal": _option(_TEXT, "Decimal point of a CSV file. Default: guessed.", ".|,"),
    "thousands": _option(_TEXT, "Thousands separator: . , ' or space. Default: guessed.", "CHAR"),
    "date_format": _option(
        _TEXT, "Order of dates such as 04/05/2025, or a form such as %d-%b-%Y. Default: guessed.", "dmy|mdy|ymd|FORM"
    ),
    "encoding": _option(_TEXT, "Encoding of a CSV file, such as cp1252. Default: guessed.", "NAME"),
    "sheet": _option(_TEXT, "Sheet of an Excel file. Default: the first.", "NAME"),
    "missing": _option(
        _TEXT,
        "Refuse empty cells, or drop rows without a node or layer; an empty weight is then 1, an empty time the "
        "earliest.",
        "error|drop",
        shown="error",
    ),
    "bipartite": _option(_SWITCH, "--bipartite/--no-bipartite", "Whether sources and targets are two kinds of nodes."),
    "fold_case": _option(_SWITCH, "--fold-case", "Merge names that differ only by case or spaces, as Anna and anna."),
    "node_table": _option(
        _TEXT, "--nodes", "Table of nodes: id, type; numbers and few-valued texts are features.", "FILE"
    ),
    "node_columns": _option(
        _TEXTS,
        "Columns of the table of nodes: id=, type=, name=, features=age+income; features= for none.",
        "ROLE=NAME,..",
    ),
    "max_size": _option(
        _NUMBER,
        "Largest size after decompression, or of a GraphML file, as 2G. Default: 64M, or 100 times the compressed "
        "size; 64M for GraphML.",
        "SIZE",
        parser=_size,
    ),
    "num_nodes": _option(_NUMBER, "Nodes are 0 to N-1, isolated ones included.", "N", min=1),
    "directed": _option(_SWITCH, "--directed/--undirected", "Read edges as directed or undirected."),
}
reads_data = add_options(READING, into="reading")
"""A decorator for commands that read DATA: they get the options that say how as `reading`."""
Reading = dict[str, Any]
CHARACTERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "point": ".", "apostrophe": "'"}
"""Words for characters that are awkward to type."""


def is_dataset(data: str) -> bool:
    """Return whether DATA is the name of a data set; this takes precedence over a file of that name."""
    from banditplex.datasets import list_datasets

    return data in list_datasets()


def title_of(data: Sequence[str]) -> str:
    """Return DATA as messages and pages call it."""
    return show_files(list(data))


def load(data: Sequence[str], reading: Reading, *, quiet: bool = False) -> "Multiplex":
    """Load DATA with the options above."""
    from banditplex.datasets import load_dataset

    directed = reading.get("directed")
    name = next((each for each in data if is_dataset(each)), None)
    if name is not None:
        if len(data) > 1:
            raise InputError(f"Expected a single DATA, or several files, got the data set {name!r} among {len(data)}.")
        refused = next((each for each in reading if each != "directed"), None)
        if refused:
            named = {"from_format": "--from", "node_table": "--nodes"}
            flag = named.get(refused, f"--{refused.replace('_', '-')}")
            raise InputError(f"Expected {flag} only with a file or folder, got it with the data set {name!r}.")
        if Path(name).exists() and not quiet:
            say(f"{name} means the data set, not the path in this folder; use ./{name} for the path.")
        with progress(f"Loading {name}", quiet=quiet) as on_progress:
            mx = load_dataset(name, progress=on_progress)
        return mx if directed is None else mx.to_directed() if directed else mx.to_undirected()
    special = ("from_format", "columns", "node_columns")
    options = {each: value for each, value in reading.items() if each not in special}
    if "node_columns" in reading:
        if "node_table" not in reading:
            raise InputError("Expected --nodes FILE with --node-columns, got none.")
        options["node_columns"] = parse_node_columns(reading["node_columns"])
    if "from_format" in reading:
        options["format"] = reading["from_format"]
    for each in {"delimiter", "thousands"} & set(options):
        options[each] = CHARACTERS.get(options[each].lower(), options[each])
    columns = parse_columns(reading.get("columns"))
    twice = next((role for role, given in columns.items() if isinstance(given, tuple)), None)
    if twice is not None and len(data) == 1 and not Path(data[0]).is_dir():
        listed = " and ".join(map(repr, columns[twice]))
        raise InputError(f"Expected one column as {ALIAS.get(twice, twice)} of {data[0]}, got --columns with {listed}.")
    return _read(data, options | columns, quiet)


def published_split(data: Sequence[str], *, leaks: str) -> "FixedSplit":
    """Return the split that comes with DATA; `leaks` says what becomes of its leaking pairs."""
    from banditplex.datasets import fetch
    from banditplex.evaluation import fixed_split

    title = title_of(data)
    return fixed_split(fetch(title) if is_dataset(title) else title, leaks=leaks)


def reading_notes(mx: "Multiplex") -> list[str]:
    """Return how data were read: what was guessed, merged or left out, in terms of flags."""
    return [in_flags(each) for each in notes_of(mx.metadata)]


def check_there(data: Sequence[str]) -> None:
    """Refuse DATA that is neither a data set nor a path."""
    from banditplex.datasets import list_datasets

    for path in [path for path in data if not is_dataset(path) and not Path(path).exists()]:
        close = get_close_matches(path, list_datasets(), n=1)
        hint = f" did you mean {close[0]!r}?" if close else " `banditplex datasets list` lists the data sets."
        raise InputError(f"{path}: no such file or folder, and no data set of that name;{hint}")


def begin(data: Sequence[str], then: str, *, quiet: bool) -> str:
    """Say what is read and what comes then, and return the title of DATA; refuse those that are not there."""
    check_there(data)
    if not quiet:
        say(f"reading {title_of(data)}; then {then}.")
    return title_of(data)


def _read(paths: Sequence[str], options: dict[str, Any], quiet: bool) -> "Multiplex":
    from banditplex.io import read

    check_there(paths)
    with progress(f"Reading {title_of(paths)}", quiet=quiet) as on_progress, warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        mx = read(paths if len(paths) > 1 else paths[0], progress=on_progress, **options)
    if options.get("directed") and mx.num_edges and not quiet:
        pairs = mx.to_undirected().num_edges
        if pairs == (mx.edge_index[0] != mx.edge_index[1]).sum():
            say(f"{title_of(paths)}: no edge has a reverse edge; --directed reads each line as one directed edge.")
    return mx


def parse_columns(texts: Iterable[str] | None) -> dict[str, Any]:
    """Return column names by role, from texts such as `source=from,target=to`; a tuple if a role has several names."""
    roles = {role: role for role in EDGE_ROLES} | ALSO
    columns: dict[str, tuple[str, ...]] = {}
    for part in [part for text in texts or () for part in text.split(",")]:
        role, equals, column = part.partition("=")
        if role not in roles or not equals or (not column and roles[role] in PAIR_ROLES):
            raise InputError(f"Expected --columns like source=from,target=to, got {part!r}; roles: {', '.join(roles)}.")
        columns[roles[role]] = tuple(dict.fromkeys((*columns.get(roles[role], ()), column)))
    mixed = next((role for role, names in columns.items() if "" in names and len(names) > 1), None)
    if mixed is not None:
        raise InputError(f"Expected --columns {mixed}=NAME, or {mixed}= for no column, got both.")
    return {role: names if len(names) > 1 else names[0] for role, names in columns.items()}


def later_columns(before: Iterable[str], now: Iterable[str]) -> list[str]:
    """Return texts of --columns or --node-columns in which later roles replace earlier ones."""
    roles = {part.partition("=")[0] for text in now for part in text.split(",")}
    parts = [part for text in before for part in text.split(",")]
    return [*(part for part in parts if part.partition("=")[0] not in roles), *now]


def parse_node_columns(texts: Iterable[str]) -> dict[str, str]:
    """Return the columns of a table of nodes by role."""
    columns = {}
    for part in [part for text in texts for part in text.split(",")]:
        role, equals, column = part.partition("=")
        if role not in ("id", "type", "name", "features") or not equals:
            raise InputError(f"Expected --node-columns like id=person,type=role,features=age+income, got {part!r}.")
        columns[role] = column
    return columns


def as_name(text: str, names: "Iterable[Name]") -> "Name":
    """Return what was typed as a name of the kind that `names` are: strings or integers."""
    integers = all(isinstance(name, int) for name in names)
    return int(text) if integers and text.lstrip("-").isdigit() else text


def find_targets(mx: "Multiplex", typed: Iterable[str] | None) -> "tuple[Name, ...] | None":
    """Return the layers that were typed as targets; refuse those that are not there."""
    targets = tuple(as_name(name, mx.layer_names) for name in typed or ())
    for each in targets:
        mx.layer_index(each)  # refuses
    return targets or None


FLAGS: dict[str, str | None] = {
    **{f"{name}=": f"--{name.replace('_', '-')}" for name in (*READING, "context", "width", "evidence")},
    **{f"{name}=True": f"--{name.replace('_', '-')}" for name in (*READING, "exact", "lossy", "resume")},
    **{f"{role}=": f"--columns {ALIAS.get(role, role)}=" for role in EDGE_ROLES},
    **{name: f"--{name.replace('_', '-')}" for name in (*SETTINGS, "date_format", "max_size") if "_" in name},
    **dict.fromkeys(("overwrite=True", "force=True"), "--force"),
    "fixed_split": "--split fixed",
    "read with format=": "read with --from",
    "write with format=": "write with --to",
    "header=False": "--no-header",
    "header=": "--header/--no-header",
    "directed=False": "--undirected",
    "directed=": "--directed/--undirected",
    "missing='drop'": "--missing drop",
    "node_table=": "--nodes",
    **{f"{name}=": f"--policy-option {name}=" for name in ("layers", "prices")},
    **dict.fromkeys(("policy_options=", "policy_options"), "--policy-option"),
    "its options:": None,
}
"""How messages name a parameter, and the flag for it; None: there is no flag, and the hint is left out."""

_PHRASES = "|".join(re.escape(phrase) + r"\b" * phrase[-1].isalnum() for phrase in sorted(FLAGS, key=len, reverse=True))
_PHRASE = re.compile(rf"(?<![\w/.'\"-])(?<!--columns )({_PHRASES})(?=(['\"\[{{\w])?)")
_NO_FLAG = "|".join(re.escape(phrase) for phrase, flag in FLAGS.items() if flag is None)
_NODE_COLUMN = re.compile(r"node_columns=\{'(\w+)': ('[^']*'|\"[^\"]*\")\}")
_SECOND = re.compile(r"(?<=['\"]), --columns (?=\w+=)")  # --columns takes several, joined by commas
_HINT = re.compile(rf"; (?:{_NO_FLAG})[^;]*?(?=\.?$|;)")


def in_flags(message: str) -> str:
    """Return a message of the library in terms of flags."""
    message = _NODE_COLUMN.sub(r"--node-columns \1=\2", _HINT.sub("", message))
    return _SECOND.sub(",", _PHRASE.sub(_flag, message))


def _flag(found: re.Match[str]) -> str:
    """Return the flag for a phrase, with a space before its value if one follows."""
    flag = FLAGS[found[1]] or found[1]
    return f"{flag} " if found[2] and not flag.endswith("=") else flag
