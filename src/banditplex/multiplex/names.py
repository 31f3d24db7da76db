"""Names of nodes and layers: strings or integers, and the indices they stand for."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from banditplex.errors import InputError

Name = str | int
Ints = npt.NDArray[np.int64]
Names = npt.NDArray[Any]  # int64, or objects that are all str


def as_names(values: Any, what: str) -> Names:
    """Return `values` as an int64 array or an object array of str; anything else is refused.

    >>> as_names(["b", "a"], "layer")
    array(['b', 'a'], dtype=object)
    >>> as_names([1.5], "node")
    Traceback (most recent call last):
    banditplex.errors.InputError: Expected node names that are all strings or all integers, got float64.
    """
    array = np.asarray(values)
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
    if array.dtype.kind == "O":
        return _from_objects(array, what)
    raise InputError(f"Expected {what} names that are all strings or all integers, got {array.dtype}.")


def _from_objects(array: Names, what: str) -> Names:
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


def factorize(values: Names) -> tuple[Names, Ints]:
    """Return the distinct names in rising order and, for each value, the index of its name.

    >>> factorize(np.array([30, 10, 30]))
    (array([10, 30]), array([1, 0, 1]))
    """
    if values.dtype != object:
        return _factorize_integers(values)
    import pandas as pd

    codes, found = pd.factorize(values)
    order = np.argsort(found)
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found))
    return np.asarray(found, dtype=object)[order], rank[codes]


def _factorize_integers(values: Ints) -> tuple[Ints, Ints]:
    if values.size == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low >= 4 * values.size + 1024:  # far apart: a lookup table would be mostly holes
        found, codes = np.unique(values, return_inverse=True)
        return found, codes.astype(np.int64, copy=False)
    seen = np.zeros(high - low + 1, np.bool_)
    seen[values - low] = True
    if seen.all():
        return np.arange(low, high + 1), values - low
    rank = np.cumsum(seen, dtype=np.int64) - 1
    return np.flatnonzero(seen) + low, rank[values - low]


class NameIndex:
    """From names to indices, for one list of distinct names.

    >>> index = NameIndex(np.array(["ann", "bob"], dtype=object), "node")
    >>> index(["bob", "bob", "ann"])
    array([1, 1, 0])
    >>> index(["bobb"])
    Traceback (most recent call last):
    banditplex.errors.InputError: Unknown node 'bobb'; did you mean 'bob'?
    """

    def __init__(self, names: Names, what: str) -> None:
        self._names, self._what = names, what
        self._table: dict[Name, int] | None = None
        if names.dtype == object:
            self._table = {name: index for index, name in enumerate(names)}
            self._distinct = len(self._table) == len(names)
        else:
            self._order = np.argsort(names, kind="stable")
            self._sorted = names[self._order]
            self._distinct = not bool((self._sorted[1:] == self._sorted[:-1]).any())
        if not self._distinct:
            values, counts = np.unique(names, return_counts=True)
            twice = values[np.argmax(counts > 1)]
            raise InputError(f"Expected distinct {what} names, got {twice!r} more than once.")

    def __call__(self, values: Any) -> Ints:
        """Return the index of each of `values`."""
        wanted = as_names(values, self._what)
        if wanted.size == 0:
            return np.empty(0, np.int64)
        if (wanted.dtype == object) != (self._table is not None) or not len(self._names):
            raise self._unknown(wanted[0])
        if self._table is not None:
            return self._look_up(wanted, self._table)
        place = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        wrong = self._sorted[place] != wanted
        if wrong.any():
            raise self._unknown(wanted[np.argmax(wrong)])
        return np.asarray(self._order[place], dtype=np.int64)

    def _look_up(self, wanted: Names, table: dict[Name, int]) -> Ints:
        if len(wanted) < 10_000:
            found = np.fromiter((table.get(name, -1) for name in wanted), np.int64, len(wanted))
        else:  # hash each distinct name once
            distinct, codes = factorize(wanted)
            found = self._look_up_distinct(distinct, table)[codes]
        if (found < 0).any():
            raise self._unknown(wanted[np.argmax(found < 0)])
        return found

    @staticmethod
    def _look_up_distinct(distinct: Names, table: dict[Name, int]) -> Ints:
        return np.fromiter((table.get(name, -1) for name in distinct), np.int64, len(distinct))

    def _unknown(self, name: Any) -> InputError:
        name = name.item() if isinstance(name, np.generic) else name
        shown = [str(known) for known in self._names[:1000]]
        close = get_close_matches(str(name), shown, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f". {self._kinds()}."
        return InputError(f"Unknown {self._what} {name!r}{hint}")

    def _kinds(self) -> str:
        names: Sequence[Any] = self._names.tolist()
        if not names:
            return f"There are no {self._what}s"
        listed = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
        return f"Known {self._what}s: {listed}"
