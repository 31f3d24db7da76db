"""Large tensors in files, so that a training needs little memory of its own: pages of a file come and go as needed.

`FileBacked` is a mode of torch: while it is on, the result of every operation on the CPU that is large is written into a
memory-mapped file. The code that makes graphs, evidence and batches stays as it is. Most operations can write into a
tensor that is given (`out=`). Sorts, and other operations whose result has an unknown size, are done in chunks.
"""  # noqa: E501

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from banditplex.scratch import LEAST, mapped

CHUNK = 1 << 20
"""Numbers that are sorted, or counted, at once."""
SAMPLES = 256
"""Numbers of each sorted chunk that decide how all of them are divided."""
aten = torch.ops.aten


class FileBacked(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Puts the large results of all operations in a block into files in a folder.

    Parameters: `folder`, on a disk; `least`, bytes of the smallest tensor in a file; `chunk`, numbers at once.
    """

    def __init__(self, folder: str | Path, *, least: int = LEAST, chunk: int = CHUNK) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._folder, self._least, self._chunk = Path(folder), least, chunk

    def empty(self, shape: Any, dtype: torch.dtype) -> Tensor:
        """Return a tensor of zeros, in a file if it is large."""
        shape = torch.Size(shape)
        if shape.numel() * dtype.itemsize < self._least:
            return torch.zeros(shape, dtype=dtype)
        return mapped(self._folder, shape.numel(), dtype).view(shape)

    def keep(self, value: Any) -> Any:
        """Return a result, or several, moved to files where they are large."""
        if isinstance(value, tuple | list):
            return type(value)(map(self.keep, value))
        if not isinstance(value, Tensor) or not self._is_large(value) or value.device.type != "cpu":
            return value
        return self.empty(value.shape, value.dtype).copy_(value)

    def _is_large(self, value: Tensor) -> bool:
        return value.numel() * value.dtype.itemsize >= self._least

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation; modes are off here, so that what is called is torch itself."""
        kwargs = kwargs or {}
        makes = MAKERS.get(func.overloadpacket)
        if makes is not None:
            return self._make(func, makes, args, kwargs)
        if not _returns_new(func):
            return func(*args, **kwargs)
        given = [each for each in _flat(args) if isinstance(each, Tensor)]
        if not all(each.device.type == "cpu" for each in given):
            return self.keep(func(*args, **kwargs))
        own = IN_CHUNKS.get(func)
        if own is not FileBacked._repeat_interleave and not any(8 * each.numel() >= self._least for each in given):
            return self.keep(func(*args, **kwargs))
        if own is not None:
            result = own(self, *args, **kwargs)
            if result is not NotImplemented:
                return result
        return self._write(func, args, kwargs)

    def _make(self, func: Any, shape_of: Callable[..., int], args: Any, kwargs: Any) -> Any:
        """Return a new tensor whose size is among the arguments."""
        device = kwargs.get("device")
        on_cpu = device is None or torch.device(device).type == "cpu"
        if not on_cpu or 8 * shape_of(*args) < self._least or (isinstance(args[0], Tensor) and args[0].is_cuda):
            return func(*args, **kwargs)
        form = func(*args, **kwargs | {"device": "meta"})
        result = self.empty(form.shape, form.dtype)
        name = func.overloadpacket.__name__
        if name == "arange":
            return torch.arange(*args, out=result)
        if "full" in name:
            return result.fill_(args[2] if name.startswith("new") else args[1])
        return result.fill_(1) if "ones" in name else result

    def _write(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operation that writes its results into tensors it is given, if there is such a form of it."""
        form = _out_form(func)
        if form is None:
            return self.keep(func(*args, **kwargs))
        into, names = form
        try:
            shape = func(*_on_meta(args), **_on_meta(kwargs))
        except (RuntimeError, NotImplementedError):  # its size depends on the values
            return self.keep(func(*args, **kwargs))
        several = isinstance(shape, tuple)
        room = [self.empty(each.shape, each.dtype) for each in (shape if several else [shape])]
        into(*args, **kwargs, **dict(zip(names, room, strict=True)))
        return tuple(room) if several else room[0]

    # In chunks

    def _sort(self, keys: Tensor, dim: int = -1, descending: bool = False) -> Any:
        """Sort chunks, then merge them in parts: each has the keys of one range, of all chunks in their order."""
        if keys.dim() != 1 or descending or len(keys) <= self._chunk:
            return NotImplemented
        size, chunk = len(keys), self._chunk
        runs, places = self.empty([size], keys.dtype), self.empty([size], torch.int64)
        starts = list(range(0, size, chunk))
        for low in starts:
            values, order = torch.sort(keys[low : low + chunk], stable=True)
            runs[low : low + chunk], places[low : low + chunk] = values, order.add_(low)
        step = max(1, chunk // SAMPLES)
        sample = torch.sort(torch.cat([runs[low : low + chunk : step] for low in starts])).values
        bounds = torch.unique_consecutive(sample[SAMPLES::SAMPLES])
        cut = torch.stack([torch.searchsorted(runs[low : low + chunk], bounds) + low for low in starts])
        first, last = cut.new_tensor(starts).unsqueeze(1), cut.new_tensor([*starts[1:], size]).unsqueeze(1)
        table = torch.cat([first, cut, last], 1).T.tolist()
        result, order, done = self.empty([size], keys.dtype), self.empty([size], torch.int64), 0
        for begin, end in pairwise(table):
            slices = [slice(low, high) for low, high in zip(begin, end, strict=True)]
            values, at = torch.sort(torch.cat([runs[each] for each in slices]), stable=True)
            there = slice(done, done + len(values))
            result[there], order[there] = values, torch.cat([places[each] for each in slices])[at]
            done = there.stop
        return result, order

    def _stable_sort(self, keys: Tensor, *, stable: bool, dim: int = -1, descending: bool = False) -> Any:
        return self._sort(keys, dim, descending)

    def _nonzero(self, values: Tensor) -> Any:
        if values.dim() != 1:
            return NotImplemented
        parts = torch.split(values, self._chunk)
        count = [int(torch.count_nonzero(part)) for part in parts]
        result, done = self.empty([sum(count), 1], torch.int64), 0
        for number, part in enumerate(parts):
            there = result[done : done + count[number]]
            there.copy_(torch.nonzero(part)).add_(number * self._chunk)
            done += count[number]
        return result

    def _unique_consecutive(
        self, values: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
    ) -> Any:
        if dim is not None or values.dim() != 1:
            return NotImplemented
        with self:
            new = torch.ones_like(values, dtype=torch.bool)
            torch.ne(values[1:], values[:-1], out=new[1:])
            first = torch.nonzero(new).squeeze(1)
            inverse = torch.cumsum(new, 0).sub_(1) if return_inverse else first[:0]
            counts = torch.diff(first, append=first.new_tensor([len(values)])) if return_counts else first[:0]
            return values.index_select(0, first), inverse, counts

    def _unique(
        self, values: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
    ) -> Any:
        if return_inverse or values.dim() != 1:
            return NotImplemented
        with self:
            return torch.unique_consecutive(torch.sort(values).values), values[:0], values[:0]

    def _repeat_interleave(self, repeats: Tensor, *, output_size: int | None = None) -> Any:
        with self:
            last = torch.cumsum(repeats, 0)
        size = int(last[-1]) if len(last) else 0
        if 8 * size < self._least:
            return torch.repeat_interleave(repeats, output_size=size)
        result = self.empty([size], repeats.dtype)
        for low in range(0, size, self._chunk):
            high = min(low + self._chunk, size)
            torch.searchsorted(last, torch.arange(low, high), right=True, out=result[low:high])
        return result

    # In other forms

    def _clone(self, value: Tensor, *, memory_format: Any = None) -> Any:
        return self.empty(value.shape, value.dtype).copy_(value)

    def _to_copy(self, value: Tensor, *, dtype: torch.dtype | None = None, device: Any = None, **_: Any) -> Any:
        if device is not None and torch.device(device).type != "cpu":
            return NotImplemented
        return self.empty(value.shape, dtype or value.dtype).copy_(value)

    def _repeat(self, value: Tensor, repeats: Any) -> Any:
        if value.dim() != 1 or len(repeats) != 1:
            return NotImplemented
        return self.empty([repeats[0] * len(value)], value.dtype).view(repeats[0], -1).copy_(value).view(-1)

    def _stack(self, tensors: Any, dim: int = 0) -> Any:
        place = dim % (tensors[0].dim() + 1)
        return self._write(aten.cat.default, ([each.unsqueeze(place) for each in tensors], place), {})

    def _shift(self, value: Tensor, bits: int) -> Any:
        result = self._clone(value)
        result >>= bits
        return result

    def _remainder(self, value: Tensor, by: Any) -> Any:
        return self._write(aten.remainder.Tensor, (value, torch.tensor(by)), {})

    def _index(self, value: Tensor, at: Any) -> Any:
        if not any(each is not None and each.dtype == torch.bool for each in at):
            return self._write(aten.index.Tensor, (value, at), {})
        if len(at) != 1 or at[0].dim() != 1:
            return NotImplemented
        with self:
            return value.index_select(0, torch.nonzero(at[0]).squeeze(1))


def _first_size(shape: Any, *_: Any, **__: Any) -> int:
    size = 1
    for each in shape:
        size *= int(each)
    return size


def _second_size(_: Tensor, shape: Any, *__: Any) -> int:
    return _first_size(shape)


def _same_size(like: Tensor, *_: Any) -> int:
    return like.numel()


def _length(first: Any, last: Any = None, step: Any = 1, *_: Any) -> int:
    return int(first if last is None else (last - first) // step)


MAKERS: dict[Any, Callable[..., int]] = {
    **dict.fromkeys([aten.empty, aten.zeros, aten.ones, aten.full], _first_size),
    **dict.fromkeys([aten.new_empty, aten.new_zeros, aten.new_ones, aten.new_full], _second_size),
    **dict.fromkeys([aten.empty_like, aten.zeros_like, aten.ones_like, aten.full_like], _same_size),
    aten.arange: _length,
}
IN_CHUNKS: dict[Any, Callable[..., Any]] = {
    aten.sort.default: FileBacked._sort,
    aten.sort.stable: FileBacked._stable_sort,
    aten.nonzero.default: FileBacked._nonzero,
    aten.unique_consecutive.default: FileBacked._unique_consecutive,
    aten._unique2.default: FileBacked._unique,
    aten.repeat_interleave.Tensor: FileBacked._repeat_interleave,
    aten.clone.default: FileBacked._clone,
    aten._to_copy.default: FileBacked._to_copy,
    aten.repeat.default: FileBacked._repeat,
    aten.stack.default: FileBacked._stack,
    aten.__rshift__.Scalar: FileBacked._shift,
    aten.remainder.Scalar: FileBacked._remainder,
    aten.index.Tensor: FileBacked._index,
}


def _flat(values: Any) -> list[Any]:
    """Return arguments of an operation, with those in lists."""
    return [each for value in values for each in (value if isinstance(value, list | tuple) else [value])]


@cache
def _returns_new(func: Any) -> bool:
    """Say whether an operation returns tensors of its own, and changes none."""
    return not func._schema.is_mutable and all(each.alias_info is None for each in func._schema.returns)


def _is_native(form: Any) -> bool:
    """Say whether an operation has code of its own for CPUs, and does not just copy what another form returns."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(form.name(), "CPU"))


@cache
def _out_form(func: Any) -> tuple[Any, list[str]] | None:
    """Return the form of an operation that writes into tensors it is given, and the names of these; None: no such."""
    wanted = [(each.name, str(each.type)) for each in func._schema.arguments]
    for name in func.overloadpacket.overloads():
        form = getattr(func.overloadpacket, name)
        out = [each.name for each in form._schema.arguments if each.is_out]
        if (
            out
            and _is_native(form)
            and [(each.name, str(each.type)) for each in form._schema.arguments if not each.is_out] == wanted
        ):
            return form, out
    return None


def _on_meta(value: Any) -> Any:
    """Return arguments whose tensors have a shape, but no values."""
    if isinstance(value, Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, dict):
        return {name: _on_meta(each) for name, each in value.items()}
    return type(value)(map(_on_meta, value)) if isinstance(value, list | tuple) else value
