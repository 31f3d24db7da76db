"""Checkpoints: a training that was stopped, whenever and however, continues as if nothing had happened.

A checkpoint is one file in the folder of a run. It holds the state of the trainer after an epoch, the last or one
shortly before (weights and their moving average, optimizer, policies, random streams, history, early stopping), and the
identity of the run: its settings and its data. On a CPU a resumed run ends with exactly the bits of an uninterrupted
one.
"""

import copy
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch

from banditplex.errors import FormatError, InputError
from banditplex.multiplex import Multiplex
from banditplex.persistence.index import CHECKPOINT
from banditplex.persistence.model_folder import config_to_json
from banditplex.schema import ANYTHING, NAMES, Kind, check, one_of, whole
from banditplex.storage.files import check_same, differences, locked_folder
from banditplex.storage.lock import Lock
from banditplex.storage.tree import read_tree, write_tree
from banditplex.training.config import SETTINGS
from banditplex.training.global_state import get_state, set_state
from banditplex.training.history import ROW
from banditplex.training.likeness import check_like
from banditplex.training.loop import Trainer
from banditplex.training.members import Members

FORMAT = "banditplex checkpoint 12"
_SIZE_AND_CHECKSUM = Kind(
    "a size and a checksum", lambda value: isinstance(value, tuple) and [*map(type, value)] == [int, str]
)
_ARGUMENTS = {"hide?": ANYTHING, "policy_options?": ANYTHING}
_STATE = {
    "epoch": whole(0), "warmup_epochs": whole(0), "history": [ROW], "policy": (type(None), {"*": ANYTHING}),
    "rng": {"*": ANYTHING}, "model": {"*": ANYTHING}, "ema_model": {"*": ANYTHING},
    "optimizer": {"num_done": whole(0), "moments": {"mean": ANYTHING, "square": ANYTHING}},
    "schedule": {"*": ANYTHING}, "regret": {"*": ANYTHING},
    "early_stopping": {
        "best_epoch": whole(0), "kept_epoch": whole(0), "best_loss": ANYTHING,
        "weights": (type(None), {"*": ANYTHING}), "policy": (type(None), {"*": ANYTHING}),
    },
}  # fmt: skip
SCHEMA = {
    "identity": {
        "settings": {f"{name}?": ANYTHING for name in SETTINGS if name != "device"} | {"targets": NAMES},
        "data": {"*": ANYTHING},
        "layers": {"*": _SIZE_AND_CHECKSUM},
    },
    "arguments": _ARGUMENTS,
    "state": _STATE, "finished": [_STATE],
    "generators": (type(None), {"cpu": ANYTHING, "cuda": [ANYTHING]}),
}  # fmt: skip
EVERY = 1.0  # seconds between two checkpoints; with 740 edges, one in each epoch took nearly as long as training
LONGER = ("epochs", "patience")  # settings that may grow when a run is resumed: it is trained longer


class Checkpoint:
    """The checkpoint of one training in a folder; `arguments`: those of the constructor that training resolves."""

    def __init__(
        self, folder: str | Path, mx: Multiplex, members: Members, *, arguments: Mapping[str, Any] | None = None
    ) -> None:
        self.path = Path(folder) / CHECKPOINT
        self._members, self._arguments = members, dict(arguments or {})
        self._identity = identify(mx, members.trainers[0])
        self._lock: Lock | None = None
        self._saved = float("-inf")  # when
        self._group = members.trainers[0].data.group

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes out of the folder; refuse if one is in it that does not train with this one."""
        if not self._group.is_writer:
            yield
            return
        with locked_folder(self.path.parent) as self._lock:
            yield
        self._lock = None

    def begin(self, *, resume: bool) -> None:
        """Save the initial state or, with `resume`, restore the last saved state if there is one.

        A new run over an existing checkpoint is refused, and so is resuming with other settings or data. More epochs or
        more patience are not: all networks go on, with the learning rate of the schedule of so many epochs.
        """
        if not self._group.from_first(self.path.exists):
            self.save()
            return
        if not resume:
            raise InputError(f"{self.path}: exists; resume=True continues this run; or choose another folder.")
        kept = self._group.from_first(lambda: read_checkpoint(self.path))
        check_same(self.path, compare(kept["identity"], self._identity))
        try:
            check(len(kept["finished"]), whole(0, self._members.count - 1), path=self.path, what="finished networks")
            for number, state in enumerate([*kept["finished"], kept["state"]]):
                if number:
                    self._members.begin_next()
                restore(self._members.current, state)
            self._members.go_on()
            if kept["generators"] is not None:
                set_state(kept["generators"])
        except (InputError, AttributeError, LookupError, OverflowError, RuntimeError, TypeError, ValueError) as error:
            kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
            found = " ".join(f"{kind}{error}".split()).removesuffix(".")
            raise FormatError(f"expected the state of this training, got another ({found})", path=self.path) from None

    def after_epoch(self) -> None:
        """Save the state, unless that was done less than `EVERY` seconds ago and training goes on."""
        if self._members.finished or monotonic() - self._saved >= EVERY:
            self.save()

    def save(self) -> None:
        """Save the state in place of the last one, in the first process; refuse a folder other than that of `held`."""
        if not self._group.is_writer:
            return
        if self._lock is not None:
            self._lock.check()
        *finished, current = self._members.trainers
        kept = {
            "identity": self._identity, "arguments": self._arguments, "state": state_of(current),
            "finished": [state_of(trainer) for trainer in finished],
            "generators": get_state() if current.config.uses_torch_generators else None,
        }  # fmt: skip
        write_tree(self.path, kept, format=FORMAT)
        self._saved = monotonic()


def state_of(trainer: Trainer) -> dict[str, Any]:
    """Return all that the next epoch depends on; later epochs may change it."""
    return {
        "epoch": trainer.epoch, "warmup_epochs": trainer.warmup_epochs, "history": trainer.history,
        "policy": None if trainer.policy is None else trainer.policy.state_dict(),
        "rng": {name: rng.bit_generator.state for name, rng in trainer.rng.items()},
        **{name: part.state_dict() for name, part in _parts(trainer).items()},
    }  # fmt: skip


def restore(trainer: Trainer, state: Mapping[str, Any]) -> None:
    """Set a trainer back to a state; refuse one of another training before anything is changed."""
    check_state(trainer, state)
    state = copy.deepcopy(dict(state))
    trainer.epoch, trainer.warmup_epochs, trainer.history = state["epoch"], state["warmup_epochs"], state["history"]
    if trainer.policy is not None:
        trainer.policy.load_state_dict(state["policy"])
    for name, rng in trainer.rng.items():
        rng.bit_generator.state = state["rng"][name]
    for name, part in _parts(trainer).items():
        part.load_state_dict(state[name])


def check_state(trainer: Trainer, state: Mapping[str, Any]) -> None:
    """Refuse a state whose numbers are not of the types, shapes and ranges that this training has, or not finite."""
    fresh, data = state_of(trainer), trainer.data
    check(state["epoch"], whole(0, trainer.config.epochs), what="epoch")
    check(state["warmup_epochs"], whole(0, trainer.warmup_epochs), what="warmup_epochs")
    check(len(state["history"]), one_of(state["epoch"] * len(data.targets)), what="the number of rows")
    check(state["rng"], dict.fromkeys(trainer.rng, ANYTHING), what="rng")
    for name in ("model", "ema_model", "schedule", "rng"):
        check_like(state[name], fresh[name], name)
    arms, steps = max(len(data.layer_names) - 1, 1), trainer.config.steps_per_draw
    for name, high in (("arms", arms - 1), ("left", steps)):
        values = state["schedule"][name]
        if values.size and not 0 <= values.min() <= values.max() <= high:
            raise InputError(f"Expected schedule[{name!r}] from 0 to {high}, got others.")
    trainer.optimizer.check_state_dict(state["optimizer"])
    stopping = state["early_stopping"]
    for name in ("best_epoch", "kept_epoch"):
        check(stopping[name], whole(0, state["epoch"]), what=name)
    if stopping["best_loss"] is not None:
        check_like(stopping["best_loss"], torch.zeros(2 * len(data.validation_edges), dtype=torch.float64), "best_loss")
    if stopping["weights"] is not None:
        check_like(stopping["weights"], fresh["ema_model"], "weights")
    if trainer.policy is not None:
        for policy in filter(None, (state["policy"], stopping["policy"])):
            copy.deepcopy(trainer.policy).load_state_dict(policy)
        check(state["policy"], {"*": ANYTHING}, what="policy")


def _parts(trainer: Trainer) -> dict[str, Any]:
    """Return the parts of a trainer that know their own state."""
    names = ("model", "ema_model", "optimizer", "schedule", "early_stopping", "regret")
    return {name: getattr(trainer, name) for name in names}


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Return what a checkpoint holds: identity, states of members before the last one and of that one, generators."""
    kept: dict[str, Any] = read_tree(path, format=FORMAT)
    check(kept, SCHEMA, path=path)
    return kept


def identify(mx: Multiplex, trainer: Trainer) -> dict[str, Any]:
    """Return settings, targets and data (as checksums) of a run, but no device: it may move to another machine."""
    settings = config_to_json(trainer.config)
    del settings["device"]
    given = (settings["policy_options"] or {}).items()
    settings["policy_options"] = {name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in given}
    settings["targets"] = [mx.layer_names[target] for target in trainer.data.targets]
    return {
        "settings": settings,
        "data": {
            "directed": mx.directed,
            "number of nodes": mx.num_nodes,
            "nodes": _fingerprint(mx.node_names.tolist()),
            "node features": _fingerprint(mx.node_features),
            "node types": _fingerprint(mx.node_types if mx.node_types is None else mx.node_types.tolist()),
            "weighted": mx.weight is not None,
        },
        "layers": {
            name: (int(size), _fingerprint(mx.edges(name), mx.weights(name)))
            for name, size in zip(mx.layer_names, mx.layer_sizes, strict=True)
        },
    }


def compare(kept: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Say in words how a run differs from the one that was kept; it may be longer."""
    before, after = kept["settings"], now["settings"]
    longer = {name: after[name] for name in LONGER if type(before.get(name)) is int and after[name] > before[name]}
    yield from differences(before | longer, after)
    for name, old in kept["data"].items():
        new = now["data"].get(name)
        if old != new:
            yield f"{name} was {old}, now {new}" if isinstance(old, int) else f"{name} differ"
    layers, layers_now = kept["layers"], now["layers"]
    for name, (old_size, old) in layers.items():
        size, new = layers_now.get(name, (None, None))
        if size is None:
            yield f"layer {name!r} is missing"
        elif size != old_size:
            yield f"layer {name!r} had {old_size:,} edges, now {size:,}"
        elif new != old:
            yield f"layer {name!r} has other edges or weights"
    yield from (f"layer {name!r} is new" for name in layers_now if name not in layers)
    if layers.keys() == layers_now.keys() and list(layers) != list(layers_now):
        yield "the layers come in another order"


def _fingerprint(*values: Any) -> str:
    digest = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray):
            digest.update(f"{value.dtype} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
        else:
            digest.update(repr(value).encode())
    return digest.hexdigest()[:16]
