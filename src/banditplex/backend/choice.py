"""The one place that chooses between plain torch, compiled loops (numba) and kernels for a GPU (Triton).

`offer` turns a function of plain torch, the reference, into what others call. Faster versions are added to it with
`faster`, and the choice is made in each call. Tests compare all versions with the reference.
"""

from collections.abc import Callable
from functools import update_wrapper
from importlib.util import find_spec
from typing import Any, Generic, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
NUMBA = find_spec("numba") is not None
TRITON = find_spec("triton") is not None


def on_cpu(first: Any, *_: Any, **__: Any) -> bool:
    """Say whether compiled loops can read a tensor, or another thing with a device."""
    return NUMBA and first.device.type == "cpu"


def on_cuda(first: Any, *_: Any, **__: Any) -> bool:
    """Say whether kernels can read a tensor, or another thing with a device."""
    return TRITON and first.device.type == "cuda"


class Offer(Generic[Arguments, Result]):
    """A function of plain torch with faster versions for some arguments."""

    def __init__(self, reference: Callable[Arguments, Result]) -> None:
        self.reference = reference
        self._versions: list[tuple[Callable[..., bool], Callable[Arguments, Result]]] = []
        update_wrapper(self, reference)

    def __call__(self, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        """Call the first version that suits the arguments, else the reference."""
        for suits, version in self._versions:
            if suits(*arguments, **named):
                return version(*arguments, **named)
        return self.reference(*arguments, **named)

    def faster(
        self, suits: Callable[..., bool]
    ) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
        """Add a version, to be called where it suits the arguments."""

        def add(version: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
            self._versions.append((suits, version))
            return version

        return add


offer = Offer
