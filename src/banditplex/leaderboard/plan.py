"""The conditions of a comparison, and its device: all methods that can use it do."""

from dataclasses import dataclass

import torch

from banditplex.errors import InputError
from banditplex.multiplex import Multiplex, Name
from banditplex.pairs.visibility import Visibility
from banditplex.training.data import choose_device


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The conditions of a comparison, the same for all methods."""

    hide: str = "layer"
    seeds: int = 5  # splits, and seeds of the methods
    trials: int = 10  # settings tried per method and seed, at most; 1: no tuning
    budget: float = 120.0  # seconds of a fit, and of scoring the test pairs; see `jobs.limits.Usage`
    memory: float = 8.0  # gigabytes of a fit
    targets: tuple[Name, ...] | None = None  # None: every layer with enough edges
    device: str = "auto"  # of all methods that have the choice; auto: CUDA where there is one

    def check(self, mx: Multiplex) -> None:
        """Refuse values that make no sense."""
        Visibility.of_split(self.hide, mx)
        for name, least in (("seeds", 1), ("trials", 1)):
            if getattr(self, name) < least:
                raise InputError(f"Expected {name} to be at least {least}, got {getattr(self, name)}.")
        for name in ("budget", "memory"):
            if not getattr(self, name) > 0:
                raise InputError(f"Expected {name} to be above 0, got {getattr(self, name)}.")
        for layer in self.targets or ():
            mx.layer_index(layer)


def find_device(name: str, engine: str) -> str:
    """Return the device that fits use: a name, or for "auto" CUDA where there is one; refuse one that is not here."""
    if engine == "ray":  # its tasks ask for a processor, not for a GPU
        if name not in ("auto", "cpu"):
            raise InputError(f"Expected device to be 'cpu' with the engine ray, got {name!r}.")
        return "cpu"
    found = choose_device(name)
    return str(found) if name == "auto" else name


def on_cuda(device: str) -> bool:
    """Return whether a device is a GPU that CUDA runs on."""
    return device.startswith("cuda")


def describe_device(device: str) -> str:
    """Return a device in words: that of CUDA with the name that torch has for it."""
    if not on_cuda(device):
        return device
    return f"CUDA: {torch.cuda.get_device_name(device)}"


def start_device(device: str) -> None:
    """Start CUDA, if it is used: this takes seconds and memory that are not those of a method."""
    if on_cuda(device):
        if torch.device(device).index is not None:
            torch.cuda.set_device(device)  # the one whose memory is watched
        torch.zeros(1, device=device)
