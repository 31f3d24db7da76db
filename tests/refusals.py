"""What tests ask of an error: its type, and the values that its message names. The wording is free to change."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from banditplex.errors import InputError


@contextmanager
def refuses(*values: Any, error: type[Exception] = InputError) -> Iterator[Any]:
    """Expect an error whose message holds all `values`, as `str` shows them.

    >>> with refuses("k", 7):
    ...     raise InputError("Expected k from 1 to 3, got 7.")
    """
    with pytest.raises(error) as caught:
        yield caught
    missing = [str(value) for value in values if str(value) not in str(caught.value)]
    assert not missing, f"{caught.value} does not name {missing}"
