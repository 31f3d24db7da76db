"""Names of nodes and layers (strings or integers), and their indices."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from banditplex.arrays import Ints
from banditplex.errors import InputError

Name = str | int
"""The name of a node or of a layer."""
ONLY_LAYER = "edges"  # the layer of a table, graph or matrix that says none
MOST_NODES = 1 << 31
_SEPARATOR = re.compile(r"[\s/:|_.#-]+")
Names = npt.NDArray[Any]  # int64, or objects that are all str


def as_names(values: Any, what: str) -> Names:
    """Return `values` as an int64 array or an object array of str; refuse anything else.

    >>> as_names(["b", "a"], "layer")
    array(['b', 'a'], dtype=object)
    >>> as_names([1.5], "node")
    Traceback (most recent call last):
    banditplex.errors.InputError: Expected node names that are all strings or all integers, got float.
    """
    array = as_array(values)
    if array.ndim != 1:
        raise InputError(f"Expected a flat sequence of {what} names, got an array of shape {array.shape}.")
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
            raise InputError(f"Expected {what} names below 2**63, got {array.max()}.")
        return array.astype(np.int64, copy=False)
    if array.dtype.kind in "UT":
        return array.astype(object)
    found = str(array.dtype)
    if array.dtype.kind == "O":
        kinds = set(map(type, array.tolist()))
        if kinds <= {str, np.str_}:
            return array if kinds == {str} else np.array([str(name) for name in array], dtype=object)
        if all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
            try:
                return array.astype(np.int64)
            except OverflowError:
                raise InputError(f"Expected {what} names below 2**63, got {max(array)}.") from None
        found = " and ".join(sorted(kind.__name__ for kind in kinds))
    raise InputError(f"Expected {what} names that are all strings or all integers, got {found}.")


def as_array(values: Any) -> Names:
    """Return `values` as an array of names; lists keep their elements, which numpy would convert to one type."""
    return np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)


def check_num_nodes(num_nodes: int | None) -> None:
    """Refuse numbers of nodes that are none, or for which there is no memory anywhere."""
    if num_nodes is not None and not 0 <= num_nodes <= MOST_NODES:
        raise InputError(f"Expected num_nodes from 0 to {MOST_NODES:,}, got {num_nodes:,}.")


def check_distinct(names: Names, what: str) -> Names:
    """Return `names`; refuse duplicates."""
    if names.dtype == object or not bool((names[1:] > names[:-1]).all()):
        NameIndex(names, what)  # raises an error that names the duplicate
    return names


def factorize(values: Names) -> tuple[Names, Ints]:
    """Return the distinct names, sorted, and the index of the name of each value."""
    if values.dtype != object:
        return _factorize_integers(values)
    import pandas as pd

    codes, found = pd.factorize(values, sort=True)
    return np.asarray(found, dtype=object), codes.astype(np.int64, copy=False)


def _factorize_integers(values: Ints) -> tuple[Ints, Ints]:
    if values.size == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low >= 4 * values.size + 1024:  # a lookup table would be mostly empty
        found, codes = np.unique(values, return_inverse=True)
        return found, codes.astype(np.int64, copy=False)
    values = values - low if low else values
    seen = np.zeros(high - low + 1, np.bool_)
    seen[values] = True
    if seen.all():
        return np.arange(high - low + 1) + low, values
    rank = np.cumsum(seen, dtype=np.int64) - 1
    return np.flatnonzero(seen) + low, rank[values]


class NameIndex:
    """A lookup from names to indices, for a list of distinct names.

    >>> index = NameIndex(np.array(["ann", "bob"], dtype=object), "node")
    >>> index(["bob", "bob", "ann"])
    array([1, 1, 0])
    >>> index(["bobb"])
    Traceback (most recent call last):
    banditplex.errors.InputError: Unknown node 'bobb'; did you mean 'bob'?
    """

    def __init__(self, names: Names, what: str) -> None:
        import pandas as pd

        self._names, self._what, self._index = names, what, pd.Index(names, dtype=names.dtype)
        if not self._index.is_unique:
            twice = self._index[self._index.duplicated()][0]
            raise InputError(f"Expected distinct {what} names, got {as_python(twice)!r} more than once.")

    def __call__(self, values: Any) -> Ints:
        """Return the index of each of `values`."""
        wanted = as_names(values, self._what)
        found = self.find(wanted)
        if (found < 0).any():
            raise unknown(as_python(wanted[np.argmax(found < 0)]), self._names.tolist(), self._what)
        return found

    def find(self, wanted: Names) -> Ints:
        """Return the index of each of `wanted`, -1 if it is unknown."""
        if not len(self._names) or (wanted.dtype == object) != (self._names.dtype == object):
            return np.full(len(wanted), -1, np.int64)
        import pandas as pd

        return self._index.get_indexer(pd.Index(wanted, dtype=wanted.dtype)).astype(np.int64, copy=False)


def unknown(name: Name, names: Sequence[Name], what: str) -> InputError:
    """Return the error about a name that is not among those known, with those that may be meant."""
    listed = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else ".")
    hint = f". Known {what}s: {listed}" if len(names) else f". There are no {what}s."
    close = near_names(str(name), [str(known) for known in names])
    if close:
        hint = f"; did you mean {' or '.join(close if isinstance(name, int) else map(repr, close))}?"
    return InputError(f"Unknown {what} {name!r}{hint}")


def no_target(name: Name, targets: Sequence[Name]) -> InputError:
    """Return the error about a layer in which a model predicts no links."""
    known = ", ".join(map(repr, targets[:10])) + ", ..." * (len(targets) > 10)
    return InputError(f"Expected a layer that was a target of training ({known}), got {name!r}.")


def near_names(name: str, known: list[str]) -> list[str]:
    """Return up to three known names that may be meant: another case, a part, or much alike."""
    plain = " ".join(name.casefold().split())
    same = [each for each in known if " ".join(each.casefold().split()) == plain and each != name]
    part = [] if same or not plain else [each for each in known if plain in _SEPARATOR.split(each.casefold())]
    some = {} if same or part else {each.casefold(): each for each in known[:1000]}
    alike = [some[each] for each in get_close_matches(plain, some, n=1)]
    return [each for each in (same or part or alike) if each != name][:3]


def as_python(name: Any) -> Name:
    """Return a name as a plain Python value: 3, not np.int64(3)."""
    return name.item() if isinstance(name, np.generic) else name
