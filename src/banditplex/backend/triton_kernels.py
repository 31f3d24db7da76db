"""The kernels of `kernels`; in their own file, since Triton takes long to import and is not installed everywhere."""

# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def common(
    a, b, indptr, neighbour, start, arc_degree, sums, which, arc, other, MODE: tl.constexpr, THREADS: tl.constexpr
):
    """Go through the common neighbours of rows a[i] and b[i], where i is the number of this group of threads.

    Each thread searches one entry of the shorter list in the longer one. MODE 0 writes their number to start[i]; 1
    lists them from start[i] on: i, arc from a[i], arc from b[i]; 2 writes the sums of `shared_sums` to sums[i].
    """
    i = tl.program_id(0).to(tl.int64)
    row_a, row_b = tl.load(a + i), tl.load(b + i)
    first_a, first_b = tl.load(indptr + row_a), tl.load(indptr + row_b)
    size_a, size_b = tl.load(indptr + row_a + 1) - first_a, tl.load(indptr + row_b + 1) - first_b
    swap = size_a > size_b
    short, size = tl.where(swap, first_b, first_a), tl.minimum(size_a, size_b)
    long, length = tl.where(swap, first_a, first_b), tl.maximum(size_a, size_b)
    thread = tl.arange(0, THREADS)
    count = tl.zeros([THREADS], tl.int64)
    adamic, allocation = tl.zeros([THREADS], tl.float32), tl.zeros([THREADS], tl.float32)
    place = tl.zeros([], tl.int64)
    if MODE == 1:
        place = tl.load(start + i)
    for at in range(0, size, THREADS):
        here = at + thread < size
        node = tl.load(neighbour + short + at + thread, mask=here, other=-1)
        low = tl.zeros([THREADS], tl.int64)
        high = tl.where(here, low + length, low)
        while tl.max(high - low, 0) > 0:
            middle, going = (low + high) // 2, low < high
            below = going & (tl.load(neighbour + long + middle, mask=going, other=0) < node)
            high = tl.where(going & ~below, middle, high)
            low = tl.where(below, middle + 1, low)
        inside = here & (low < length)
        found = inside & (tl.load(neighbour + long + low, mask=inside, other=-2) == node)
        number = found.to(tl.int64)
        count += number
        if MODE == 1:
            to = place + tl.cumsum(number, 0) - number
            first, second = short + at + thread, long + low
            tl.store(which + to, i + tl.zeros([THREADS], tl.int64), mask=found)
            tl.store(arc + to, tl.where(swap, second, first), mask=found)
            tl.store(other + to, tl.where(swap, first, second), mask=found)
            place += tl.sum(number, 0)
        if MODE == 2:
            one = tl.load(arc_degree + short + at + thread, mask=found, other=1.0)
            two = tl.load(arc_degree + long + low, mask=found, other=1.0)
            degree = tl.sqrt(one * two)
            adamic += tl.where(found, 1.0 / tl.log(tl.maximum(degree, 2.0)), 0.0)
            allocation += tl.where(found, 1.0 / degree, 0.0)
    if MODE == 0:
        tl.store(start + i, tl.sum(count, 0))
    if MODE == 2:
        tl.store(sums + 3 * i, tl.sum(count, 0).to(tl.float32))
        tl.store(sums + 3 * i + 1, tl.sum(adamic, 0))
        tl.store(sums + 3 * i + 2, tl.sum(allocation, 0))


@triton.jit
def weighted(a, b, indptr, neighbour, arc_row, copies, arc_degree, strength, sums, THREADS: tl.constexpr):
    """Write the sums of `weighted_sums` of rows a[i] and b[i] to sums[i]; threads as in `common`."""
    i = tl.program_id(0).to(tl.int64)
    row_a, row_b = tl.load(a + i), tl.load(b + i)
    first_a, first_b = tl.load(indptr + row_a), tl.load(indptr + row_b)
    size_a, size_b = tl.load(indptr + row_a + 1) - first_a, tl.load(indptr + row_b + 1) - first_b
    swap = size_a > size_b
    short, size = tl.where(swap, first_b, first_a), tl.minimum(size_a, size_b)
    long, length = tl.where(swap, first_a, first_b), tl.maximum(size_a, size_b)
    thread = tl.arange(0, THREADS)
    count, adamic, allocation = (
        tl.zeros([THREADS], tl.float32), tl.zeros([THREADS], tl.float32), tl.zeros([THREADS], tl.float32),
    )  # fmt: skip
    product, least, share = (
        tl.zeros([THREADS], tl.float32), tl.zeros([THREADS], tl.float32), tl.zeros([THREADS], tl.float32),
    )  # fmt: skip
    for at in range(0, size, THREADS):
        here = at + thread < size
        node = tl.load(neighbour + short + at + thread, mask=here, other=-1)
        low = tl.zeros([THREADS], tl.int64)
        high = tl.where(here, low + length, low)
        while tl.max(high - low, 0) > 0:
            middle, going = (low + high) // 2, low < high
            below = going & (tl.load(neighbour + long + middle, mask=going, other=0) < node)
            high = tl.where(going & ~below, middle, high)
            low = tl.where(below, middle + 1, low)
        inside = here & (low < length)
        found = inside & (tl.load(neighbour + long + low, mask=inside, other=-2) == node)
        x = tl.load(copies + short + at + thread, mask=found, other=0).to(tl.float32)
        y = tl.load(copies + long + low, mask=found, other=0).to(tl.float32)
        degree = tl.load(arc_degree + short + at + thread, mask=found, other=1.0)
        row = tl.load(arc_row + short + at + thread, mask=found, other=0)
        count += found.to(tl.float32)
        adamic += tl.where(found, 1.0 / tl.log(tl.maximum(degree, 2.0)), 0.0)
        allocation += tl.where(found, 1.0 / degree, 0.0)
        product += x * y
        least += tl.minimum(x, y)
        share += x * y / tl.load(strength + row, mask=found, other=1.0)
    tl.store(sums + 6 * i, tl.sum(count, 0))
    tl.store(sums + 6 * i + 1, tl.sum(adamic, 0))
    tl.store(sums + 6 * i + 2, tl.sum(allocation, 0))
    tl.store(sums + 6 * i + 3, tl.sum(product, 0))
    tl.store(sums + 6 * i + 4, tl.sum(least, 0))
    tl.store(sums + 6 * i + 5, tl.sum(share, 0))


@triton.jit(do_not_specialize=["n"])
def choose(size, chance, result, n, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Write `width` different numbers below size[i] to row i of the result, by the algorithm of Floyd."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    last = tl.load(size + row, mask=row < n, other=0) - width
    chosen = tl.full([ROWS, WIDTH], -1, tl.int64)
    for i in range(width):
        top = last + i
        number = (tl.load(chance + row * width + i, mask=row < n, other=0.0) * (top + 1)).to(tl.int64)
        taken = tl.max((chosen == number[:, None]).to(tl.int32), 1) > 0
        number = tl.where(taken, top, number)
        chosen = tl.where(column[None, :] == i, number[:, None], chosen)
    inside = (row < n)[:, None] & (column < width)[None, :]
    tl.store(result + row[:, None] * width + column[None, :], chosen, mask=inside)


@triton.jit(do_not_specialize=["n"])
def take(table, index, result, n, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Write row index[i] of a table to row i of the result."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    inside = (row < n)[:, None] & (column < width)[None, :]
    where = tl.load(index + row, mask=row < n, other=0)
    values = tl.load(table + where[:, None] * width + column[None, :], mask=inside)
    tl.store(result + row[:, None] * width + column[None, :], values, mask=inside)


@triton.jit(do_not_specialize=["n"])
def add_to(table, index, values, n, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Add row i of the values to row index[i] of a table; rows with the same index in a row are added up first."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    inside = (row < n)[:, None] & (column < width)[None, :]
    first = tl.load(index + tl.program_id(0).to(tl.int64) * ROWS)
    where = tl.load(index + row, mask=row < n, other=first)
    each = tl.load(values + row[:, None] * width + column[None, :], mask=inside, other=0.0)
    if tl.max(where, 0) == tl.min(where, 0):
        tl.atomic_add(table + first * width + column, tl.sum(each, 0), mask=column < width, sem="relaxed")
    else:
        tl.atomic_add(table + where[:, None] * width + column[None, :], each, mask=inside, sem="relaxed")


@triton.jit(do_not_specialize=["n"])
def add_up(
    x, source, weight, start, count, result, n, width,
    BACK: tl.constexpr, WEIGHTED: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Write the sum of w x[source] over the arcs from start[i] on, count[i] of them, to row i of the result.

    BACK: add w x[i] to row source[arc] of the result instead.
    """
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    inside = (row < n)[:, None] & (column < width)[None, :]
    first = tl.load(start + row, mask=row < n, other=0)
    size = tl.load(count + row, mask=row < n, other=0)
    total = tl.zeros([ROWS, WIDTH], tl.float32)
    if BACK:
        total = tl.load(x + row[:, None] * width + column[None, :], mask=inside, other=0.0)
    for j in range(tl.max(size, 0)):
        there = j < size
        node = tl.load(source + first + j, mask=there, other=0)
        here = there[:, None] & (column < width)[None, :]
        share = tl.full([ROWS], 1.0, tl.float32)
        if WEIGHTED:
            share = tl.load(weight + first + j, mask=there, other=0.0)
        if BACK:
            to = result + node[:, None] * width + column[None, :]
            tl.atomic_add(to, total * share[:, None], mask=here, sem="relaxed")
        else:
            total += share[:, None] * tl.load(x + node[:, None] * width + column[None, :], mask=here, other=0.0)
    if not BACK:
        tl.store(result + row[:, None] * width + column[None, :], total, mask=inside)


@triton.jit(do_not_specialize=["n"])
def adapt(
    x, table, index, gradient, result, by_table, n, width, eps,
    BACK: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Write each row of x, less its mean and divided by its deviation, * (1 + scale) + shift to the result.

    Scale and shift are row index[i] of the table, (2, width). BACK: write the gradient by x to the result, and add that
    by the table to `by_table`; rows of a block that share a row of the table are added up first.
    """
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    inside = (row < n)[:, None] & (column < width)[None, :]
    place = row[:, None] * width + column[None, :]
    first = tl.load(index + tl.program_id(0).to(tl.int64) * ROWS)
    which = tl.load(index + row, mask=row < n, other=first)
    scale_at = 2 * width * which[:, None] + column[None, :]
    scale = 1.0 + tl.load(table + scale_at, mask=inside, other=0.0)
    value = tl.load(x + place, mask=inside, other=0.0)
    value = tl.where(inside, value - tl.sum(value, 1)[:, None] / width, 0.0)
    share = tl.rsqrt(tl.sum(value * value, 1) / width + eps)
    value = value * share[:, None]
    if BACK:
        g = tl.load(gradient + place, mask=inside, other=0.0)
        if tl.max(which, 0) == tl.min(which, 0):
            to = by_table + 2 * width * first + column
            tl.atomic_add(to, tl.sum(g * value, 0), mask=column < width, sem="relaxed")
            tl.atomic_add(to + width, tl.sum(g, 0), mask=column < width, sem="relaxed")
        else:
            tl.atomic_add(by_table + scale_at, g * value, mask=inside, sem="relaxed")
            tl.atomic_add(by_table + scale_at + width, g, mask=inside, sem="relaxed")
        g = g * scale
        mean, along = tl.sum(g, 1) / width, tl.sum(g * value, 1) / width
        value = (g - mean[:, None] - value * along[:, None]) * share[:, None]
    else:
        value = value * scale + tl.load(table + scale_at + width, mask=inside, other=0.0)
    tl.store(result + place, value, mask=inside)


@triton.jit
def _find(neighbour, first, size, node):
    """Return where a node is in a sorted list of so many entries from `first` on, or would be."""
    low, high = first, first + size
    while low < high:
        middle = (low + high) // 2
        if tl.load(neighbour + middle) < node:
            low = middle + 1
        else:
            high = middle
    return low


@triton.jit
def paths(near, far, near_node, far_node, indptr, neighbour, arc_row, arc_degree, result, CAP: tl.constexpr):
    """Write number and weight of the paths of length 3 from near[i] to far[i] to result[i], as `Paths` does.

    Neighbours w of the near node come one after the other; each thread takes one entry x of the shorter of the lists of
    w and the far node, and searches it in the longer.
    """
    i = tl.program_id(0).to(tl.int64)
    row, end = tl.load(near + i), tl.load(far + i)
    node, other = tl.load(near_node + i), tl.load(far_node + i)
    first, end_first = tl.load(indptr + row), tl.load(indptr + end)
    size, end_size = tl.load(indptr + row + 1) - first, tl.load(indptr + end + 1) - end_first
    gap = _find(neighbour, first, size, other)
    inside = gap < first + size
    joined = (inside & (tl.load(neighbour + gap, mask=inside, other=-1) == other)).to(tl.int64)
    degree = size - joined
    taken = tl.minimum(degree, CAP)
    thread = tl.arange(0, CAP)
    count, weight = tl.zeros([CAP], tl.float32), tl.zeros([CAP], tl.float32)
    for step in range(taken):
        arc = first + step * degree // taken
        if (joined == 1) & (arc >= gap):
            arc += 1
        middle = tl.load(arc_row + arc)
        begin = tl.load(indptr + middle)
        length = tl.load(indptr + middle + 1) - begin
        swap = length - 1 > end_size - joined
        short, short_size = tl.where(swap, end_first, begin), tl.where(swap, end_size, length)
        long, long_size = tl.where(swap, begin, end_first), tl.where(swap, length, end_size)
        hole = _find(neighbour, short, short_size, node)
        inside = hole < short + short_size
        there = (inside & (tl.load(neighbour + hole, mask=inside, other=-1) == node)).to(tl.int64)
        rest = short_size - there
        some = tl.minimum(rest, CAP)
        here = thread < some
        entry = short + thread * rest // tl.maximum(some, 1)
        entry += ((there == 1) & (entry >= hole)).to(tl.int64)
        wanted = tl.load(neighbour + entry, mask=here, other=-1)
        low = tl.zeros([CAP], tl.int64) + long
        high = tl.where(here, low + long_size, low)
        while tl.max(high - low, 0) > 0:
            between, going = (low + high) // 2, low < high
            below = going & (tl.load(neighbour + between, mask=going, other=0) < wanted)
            high = tl.where(going & ~below, between, high)
            low = tl.where(below, between + 1, low)
        within = here & (low < long + long_size)
        found = within & (tl.load(neighbour + low, mask=within, other=-2) == wanted)
        stands = (degree / taken) * (rest / tl.maximum(some, 1))
        share = tl.rsqrt(tl.load(arc_degree + entry, mask=found, other=1.0) * tl.load(arc_degree + arc))
        count += tl.where(found, stands.to(tl.float32), 0.0)
        weight += tl.where(found, stands.to(tl.float32) * share, 0.0)
    tl.store(result + 2 * i, tl.sum(count, 0))
    tl.store(result + 2 * i + 1, tl.sum(weight, 0))
