"""Which column of a table has which role: by given names, or by usual ones, whatever their case."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations

from banditplex.errors import FormatError
from banditplex.multiplex.notes import note

ROLES = {  # from the role of a column to its usual names; the first ones say it, the others of a layer only suggest it
    "source": ("source", "from", "u", "src", "sender", "caller", "follower", "head"),
    "destination": (
        "target", "destination", "to", "v", "dst", "recipient", "receiver", "callee", "called", "followee", "followed",
        "tail",
    ),
    "layer": ("layer", "relation", "relationship", "type", "kind", "label", "channel", "medium", "platform", "event"),
    "weight": ("weight",),
    "time": ("time",),
    "source_type": ("source_type",),
    "destination_type": ("target_type", "destination_type"),
}  # fmt: skip
ENDS_AND_LAYER = ("source", "layer", "destination")
TRIPLES = (("head", "relation", "tail"), ("subject", "predicate", "object"), ("h", "r", "t"))
"""What a header of triples calls these."""
TIMES = ("timestamp", "datetime", "date", "when", "sent", "sent_at", "created_at")  # if values can be read as times
TWINS = ("12", "ab", "ij", "xy")  # last letters of two columns of nodes, as in household_1 and household_2
YES, NO = ("yes", "true", "x", "y"), ("no", "false", "n", "-")  # words that say whether a row is an edge
EDGE_ROLES = tuple(ROLES)
PAIR_ROLES = ("source", "destination")
ALSO = {"target": "destination", "target_type": "destination_type"}  # other words for roles
ALIAS = {"destination": "target", "destination_type": "target_type"}  # words for roles that users read
DIRECTION = {"directed": True, "undirected": False}  # words in the column Type of an edge table of Gephi
_INDEX = {"", "Unnamed: 0", "__index_level_0__"}  # names of the index of a pandas table, in a file
_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}(\D|$)|\d{4}[./-]\d{1,2}$")
_NUMBER = re.compile(r"[-+]?[\d.,' ]*\d[ ]?%?")
MADE = ("layer of a wide table", "weight in a wide table")  # columns made of a wide table, which notes do not name
ONE_LAYER = "; all edges are in one layer"  # what a note says if no column is the layer
_DECIMAL = re.compile(r"-?[\d.,' ]*[.,]\d+")
LISTED = 12  # columns that a message names
MANY = 20  # a column of more distinct values than this, and than a tenth of its rows, is no layer

Sample = Callable[[str], Sequence[object]]  # from the name of a column to some of its values


def with_usual(role: str, given: str | tuple[str, ...] | None) -> tuple[str, ...] | str | None:
    """Return one or several names for the column of a role, then its usual ones; no column ("") stays none."""
    usual = ROLES[role][:1] if role == "layer" else ROLES[role]
    return (*(given if isinstance(given, tuple) else (given,)), *usual) if given else given


def choose_columns(
    available: Sequence[str], given: Mapping[str, object], *, path: object = None, roles: Sequence[str] = EDGE_ROLES,
    hint: str = "", sample: Sample | None = None,
) -> dict[str, str]:  # fmt: skip
    """Return the column for each role: the given one, or one with a usual name; a suggested layer is not chosen here.

    A tuple of names stands for the first of them that is there. If neither end of edges has a usual name, the two
    columns that are alike in name or values are taken.
    """
    names_of = {plain(name): name for name in available}
    triple = next((each for each in TRIPLES if names_of.keys() >= set(each)), None)
    if triple is not None and given.keys().isdisjoint(ENDS_AND_LAYER):
        given = {**given, **dict(zip(ENDS_AND_LAYER, map(names_of.__getitem__, triple), strict=True))}
    if not any(given.get(role) for role in PAIR_ROLES):
        known = any(_match(available, name, path) for role in PAIR_ROLES for name in ROLES[role])
        ends = None if known else guess_ends(available, sample)
        given = given if ends is None else {**given, **dict(zip(PAIR_ROLES, ends, strict=True))}
    chosen: dict[str, str] = {}
    for role in roles:
        wanted = given.get(role)
        if wanted == "" and role not in PAIR_ROLES:
            continue
        usual = ROLES[role][:1] if role == "layer" else ROLES[role]
        names = usual if wanted is None else wanted if isinstance(wanted, tuple) else (str(wanted),)
        found = next((each for name in names if (each := _match(available, name, path)) is not None), None)
        if found is not None:
            chosen[role] = found
        elif role in PAIR_ROLES or not (wanted is None or isinstance(wanted, tuple)):
            expected = " or ".join(map(repr, names[:2]))
            more = len(available) - LISTED
            listed = ", ".join(map(repr, available[:LISTED])) + f" and {more} more" * (more > 0)
            other = f"; {role}=NAME selects another column" if wanted is None or isinstance(wanted, tuple) else ""
            if len(available) == 1 and str(path).lower().endswith((".csv", ".tsv", ".txt")):
                other = "; delimiter= says what is between columns, if no comma, semicolon or tab; remove a title above"
            if wanted is None and role == "source" and len(available) > 1 and not given.get("destination"):
                cells = sample or (lambda name: ())
                other = _no_header(available, cells) or f"{other}, as in {_suggestion(available, cells, given, roles)}"
            raise FormatError(f"expected a column {expected} as {role}, got columns {listed}{other}{hint}", path=path)
    return chosen


def _no_header(available: Sequence[str], sample: Sample) -> str:
    """Return what is wrong with a table whose first line does not name columns; nothing of other tables."""
    if any(map(_is_nameless, available[1:])):
        return "; cells of the first line are empty: remove a title above the line with the names of columns"
    first = set(filled_texts(sample(available[0])))
    if len(first) > 2 and first <= set(map(str, available[1:])):
        return "; this looks like a matrix: matrix=True reads it, and other files as other layers"
    return ""


def _suggestion(available: Sequence[str], sample: Sample, given: Mapping[str, object], roles: Sequence[str]) -> str:
    """Return columns that source, destination and, if it is not given, layer may be."""
    ends = _likely_ends(available, sample)
    taken = {*ends, *(name for name in available if plain(name) in (*ROLES["weight"], *ROLES["time"]))}
    kinds = (name for name in available if name not in taken and _like_layers(sample(name)))
    layer = next(kinds, None) if "layer" in roles and not given.get("layer") else None
    return f"source={ends[0]!r}, destination={ends[1]!r}" + (f", layer={layer!r}" if layer is not None else "")


def _likely_ends(available: Sequence[str], sample: Sample) -> list[str]:
    """Return the two columns that look most like names of nodes: many distinct values, but some of them repeated.

    Numbers of rows, dates and decimal numbers do not. Where no two columns look so, they are the first two.
    """
    distinct = {}
    for name in available:
        values = filled_texts(sample(name))
        if len(set(values)) < len(values) and not are_dates(values) and not all(map(_DECIMAL.fullmatch, values)):
            distinct[name] = len(set(values))
    best = sorted(distinct, key=lambda name: -distinct[name])[:2]
    return [name for name in available if name in best] if len(best) == 2 else list(available[:2])


def guess_ends(available: Sequence[str], sample: Sample | None) -> tuple[str, str] | None:
    """Return two columns of nodes: twins in name, or alike in values under a header that is no edge itself."""
    available = [name for name in available if not _is_nameless(name)]
    names = {name: plain(name) for name in available}
    pairs = [
        (a, b) for a, b in combinations(available, 2)
        if names[a][:-1] and names[a][:-1] == names[b][:-1] and names[a][-1:] + names[b][-1:] in TWINS
    ]  # fmt: skip
    if len(pairs) == 1 or sample is None:
        return pairs[0] if len(pairs) == 1 else None
    cells = {name: filled_texts(sample(name)) for name in available}
    first = {plain(column[0]) for column in cells.values() if column}
    if all(first.intersection(ROLES[role]) for role in PAIR_ROLES):  # names of columns under a title
        return None
    values = {name: set(column) for name, column in cells.items()}
    values = {name: each for name, each in values.items() if each and not _are_no_nodes(name, each)}
    if any(str(name).strip() in each for name in available for each in values.values()):
        return None
    alike = [
        (a, b) for a, b in combinations(values, 2)
        if len(values[a] & values[b]) >= max(3, min(len(values[a]), len(values[b])) / 2)
    ]  # fmt: skip
    return alike[0] if len(alike) == 1 else None


def _are_no_nodes(name: str, values: Collection[str]) -> bool:
    """Return whether a column is the key of a table of nodes, a weight, or has dates, decimals, or yes and no."""
    known = ("id", "node", "node_id", "nodeid", "name", *ROLES["weight"])
    few = {each.casefold() for each in values} <= {"0", "1", *YES, *NO}
    return plain(name) in known or few or are_dates(sorted(values)) or all(map(_DECIMAL.fullmatch, values))


def _match(available: Sequence[str], name: str, path: object = None) -> str | None:
    """Return the column of a name, in any case; refuse two of them."""
    exact = [column for column in available if column == name]
    found = exact or [column for column in available if plain(column) == plain(name)]
    if len(found) > 1:
        raise FormatError(f"expected one column {found[0]!r}, got several of this name", path=path)
    return found[0] if found else None


def _is_nameless(name: str) -> bool:
    return not str(name).strip() or str(name).startswith("Unnamed: ")


def plain(name: object) -> str:
    """Return the name of a column as it is compared."""
    return str(name).strip().casefold().replace(" ", "_")


def suggest_layer(names: Collection[str], sample: Sample) -> str | None:
    """Return the column or attribute, of an unused one, whose name and values suggest that it is the layer."""
    for name in (name for usual in ROLES["layer"] for name in names if plain(name) == usual):
        filled = filled_texts(sample(name))
        distinct = len(set(filled))
        if 0 < distinct <= max(MANY, len(filled) // 10):
            return name
    return None


def suggest_time(names: Collection[str], sample: Sample) -> str | None:
    """Return the column whose name and values suggest that it is the time."""
    from banditplex.multiplex.numbers import are_readable

    return next((name for name in names if plain(name) in TIMES and are_readable(sample(name))), None)


def find_direction(names: Collection[str], sample: Sample) -> str | None:
    """Return the column Type of Gephi, if there is one: each of its values is "Directed" or "Undirected"."""
    typed = [name for name in names if plain(name) == "type"]
    found = [{str(value).strip().casefold() for value in sample(name)} for name in typed]
    return next((name for name, words in zip(typed, found, strict=True) if words and words <= set(DIRECTION)), None)


def filled_texts(values: Iterable[object]) -> list[str]:
    """Return values as texts, but for those that are missing or blank."""
    return [text for value in values if value is not None and value == value and (text := str(value).strip())]


def assign_columns(
    available: Sequence[str], given: Mapping[str, object], sample: Sample, *, path: object = None,
    roles: Sequence[str] = EDGE_ROLES, hint: str = "",
) -> dict[str, str]:  # fmt: skip
    """Return the column for each role, "direction" included; say which one is taken for the layer, and what is left.

    A table of pairs, in which an edge could have no weight, has no such columns.
    """
    chosen = choose_columns(available, given, path=path, roles=roles, hint=hint, sample=sample)
    if "weight" not in roles:
        return chosen
    rest = [name for name in available if name not in chosen.values()]
    direction = find_direction(rest, sample)
    if direction is not None:
        chosen["direction"] = direction
        rest.remove(direction)
    said = []
    if not any(plain(chosen[role]) in ROLES[role] or given.get(role) for role in PAIR_ROLES):
        said.append(f"columns {chosen['source']!r} and {chosen['destination']!r} are read as source and target")
    for role, suggest in (("time", suggest_time), ("layer", suggest_layer)):
        found = suggest(rest, sample) if role in roles and role not in chosen and given.get(role) is None else None
        if found is not None:
            chosen[role] = found
            rest.remove(found)
            said.append(f"column {found!r} is read as the {role}")
    ignored = {name for role in roles if given.get(role) == "" for name in ROLES[role]}
    rest = [name for name in rest if name not in _INDEX and plain(name) not in ignored]
    rest = [name for name in rest if filled_texts(sample(name))]
    if rest:
        said.append(f"columns not used: {', '.join(map(str, rest))}")
        if "layer" not in chosen and given.get("layer") is None:
            likely = next((name for name in rest if _like_layers(sample(name))), None)
            hint = f"; if {likely!r} is the layer, say layer={likely!r}" if likely is not None else ""
            hint = _layers_side_by_side(rest, sample) or hint
            said[-1] += f"{ONE_LAYER}{hint}"
        dated = next((name for name in rest if are_dates(sample(name))), None)
        if dated is not None and "time" not in chosen and given.get("time") is None:
            said[-1] += f"; if {dated!r} is the time, say time={dated!r}"
    if said:
        note(f"{place(path)}{'; '.join(said)}.")
    used = ", ".join(f"{name!r} as {ALIAS.get(role, role)}" for role, name in chosen.items() if name not in MADE)
    note(f"{place(path)}columns used: {used}.", quiet=True)
    return chosen


def _layers_side_by_side(names: Collection[str], sample: Sample) -> str:
    """Return what to do with a table that has a column of yes and no for each layer; nothing for other tables."""
    words = {"0", "1", "0.0", "1.0", *YES, *NO}
    found = []
    for name in names:
        values = {text.casefold() for text in filled_texts(sample(name))}
        found += [name] * (bool(values) and values <= words)
    shown = ", ".join(map(repr, found[:-1])) + f" and {found[-1]!r}" if len(found) > 1 else ""
    return f"; {shown} hold yes or no: if each is a layer, wide=True reads them" if shown else ""


def _like_layers(values: Sequence[object]) -> bool:
    """Return whether some, but not all values of a column are the same, as those of layers are; no dates or numbers."""
    filled = filled_texts(values)
    if are_dates(values) or all(map(_NUMBER.fullmatch, filled)):
        return False
    return 1 < len(set(filled)) <= max(2, len(filled) // 10)


def are_dates(values: Sequence[object]) -> bool:
    """Return whether values, or the first of many, look like dates."""
    filled = filled_texts(values[:20])
    return bool(filled) and all(map(_DATE.match, filled))


def place(path: object) -> str:
    """Return how a message about a file begins."""
    return "" if path is None else f"{path}: "
