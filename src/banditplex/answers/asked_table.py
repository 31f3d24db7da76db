"""Pairs without a layer that is the same for all: those of a table that has a column for it, or of the only target."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from banditplex.arrays import Floats
from banditplex.errors import InputError
from banditplex.multiplex import Name
from banditplex.multiplex.roles import choose_columns


def in_own_layers(pairs: ArrayLike, targets: Sequence[Name], score: Callable[[Any, Name], Floats]) -> Floats:
    """Return the scores (n,) of pairs: of a table with columns source, target and layer, or of the only target."""
    if not isinstance(pairs, pd.DataFrame) or pairs.shape[1] == 2:
        if len(targets) > 1:
            raise InputError(
                f"Expected layer=, one of the {len(targets)} targets, or a table with a column layer, got neither."
            )
        return score(pairs, targets[0])
    names = choose_columns([str(name) for name in pairs.columns], {})
    if "layer" not in names:
        raise InputError(f"Expected a column layer, or layer=, got columns {', '.join(map(str, pairs.columns))}.")
    table = pairs.set_axis([str(name) for name in pairs.columns], axis=1)
    ends, result = table[[names["source"], names["destination"]]].to_numpy(), np.empty(len(table))
    code, layers = pd.factorize(table[names["layer"]], use_na_sentinel=False)
    for number, layer in enumerate(layers.tolist()):
        result[code == number] = score(ends[code == number], layer)
    return result
