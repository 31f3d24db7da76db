"""The kernels of `kernels`; in their own file, since Triton takes long to import and is not installed everywhere."""

# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def _search(neighbour, low, size, wanted, most):
    """Return where each wanted node is, or would be, in its sorted list of `size` entries, up to `most`, from `low`."""
    high, left = low + size, most
    while left > 0:
        middle, going = (low + high) >> 1, low < high
        below = going & (tl.load(neighbour + middle, mask=going, other=0) < wanted)
        high = tl.where(going & ~below, middle, high)
        low = tl.where(below, middle + 1, low)
        left = left >> 1
    return low


@triton.jit
def _is_at(neighbour, place, end, wanted):
    """Say whether each wanted node is at its place in a list that ends before `end`."""
    inside = place < end
    return inside & (tl.load(neighbour + place, mask=inside, other=-1) == wanted)


@triton.jit
def _two_lists(row_a, row_b, indptr):
    """Return whether the list of the first row is longer; start and size of the shorter list, and of the longer one."""
    first_a, first_b = tl.load(indptr + row_a), tl.load(indptr + row_b)
    size_a, size_b = tl.load(indptr + row_a + 1) - first_a, tl.load(indptr + row_b + 1) - first_b
    swap = size_a > size_b
    short, long = tl.where(swap, first_b, first_a), tl.where(swap, first_a, first_b)
    return swap, short, tl.minimum(size_a, size_b), long, tl.maximum(size_a, size_b)


@triton.jit
def _look(neighbour, short, size, long, length, place):
    """Look in the longer list for entries of the shorter, at some places; return whether they are there, and arcs."""
    here, arc = place < size, short + place
    node = tl.load(neighbour + arc, mask=here, other=-1)
    there = _search(neighbour, long + tl.zeros_like(arc), tl.where(here, length, 0), node, length)
    return here & _is_at(neighbour, there, long + length, node), arc, there


@triton.jit
def _terms(arc_degree, first, second, found):
    """Return 1 / log(degree) and 1 / degree of common neighbours: the mean of their degrees at two arcs."""
    one = tl.load(arc_degree + first, mask=found, other=1.0)
    two = tl.load(arc_degree + second, mask=found, other=1.0)
    degree = tl.sqrt(one * two)
    return tl.where(found, 1.0 / tl.log(tl.maximum(degree, 2.0)), 0.0), tl.where(found, 1.0 / degree, 0.0)


@triton.jit
def _sums(row_a, row_b, indptr, neighbour, arc_degree, THREADS: tl.constexpr):
    """Return the sums of `shared_sums` of two rows. Each thread searches an entry of the shorter list in the longer."""
    _, short, size, long, length = _two_lists(row_a, row_b, indptr)
    count, adamic = tl.zeros([THREADS], tl.float32), tl.zeros([THREADS], tl.float32)
    allocation = tl.zeros([THREADS], tl.float32)
    for at in range(0, size, THREADS):
        found, first, second = _look(neighbour, short, size, long, length, at + tl.arange(0, THREADS))
        by_log, by_degree = _terms(arc_degree, first, second, found)
        count += found.to(tl.float32)
        adamic += by_log
        allocation += by_degree
    return tl.sum(count, 0), tl.sum(adamic, 0), tl.sum(allocation, 0)


@triton.jit
def shared(a, b, indptr, neighbour, arc_degree, result, THREADS: tl.constexpr):
    """Write the sums of `shared_sums` of rows a[i] and b[i] to result[i]; i is the number of this group of threads."""
    i = tl.program_id(0).to(tl.int64)
    count, adamic, allocation = _sums(tl.load(a + i), tl.load(b + i), indptr, neighbour, arc_degree, THREADS)
    tl.store(result + 3 * i, count)
    tl.store(result + 3 * i + 1, adamic)
    tl.store(result + 3 * i + 2, allocation)


@triton.jit
def _store_cross(a, b, c, d, indptr, neighbour, arc_degree, to, THREADS: tl.constexpr):
    """Write the columns of `cross_columns`: of rows a and b in one layer, c and d in another."""
    count, adamic, allocation = _sums(a, d, indptr, neighbour, arc_degree, THREADS)
    more, more_adamic, more_allocation = _sums(c, b, indptr, neighbour, arc_degree, THREADS)
    tl.store(to, tl.log(1.0 + count + more))
    tl.store(to + 1, tl.log(1.0 + adamic + more_adamic))
    tl.store(to + 2, tl.sqrt(allocation + more_allocation))


@triton.jit(do_not_specialize=["n"])
def cross(row, there, indptr, neighbour, arc_degree, result, n, THREADS: tl.constexpr):
    """Write the columns of `cross_columns` of rows (2, n) in two layers to result[i]."""
    i = tl.program_id(0).to(tl.int64)
    a, b, c, d = tl.load(row + i), tl.load(row + n + i), tl.load(there + i), tl.load(there + n + i)
    _store_cross(a, b, c, d, indptr, neighbour, arc_degree, result + 3 * i, THREADS)


@triton.jit(do_not_specialize=["n", "k"])
def columns(
    pairs, row, there, indptr, neighbour, arc_degree, result, n, k,
    HIDDEN: tl.constexpr, OTHER: tl.constexpr, THREADS: tl.constexpr,
):  # fmt: skip
    """Write the columns of a pair in a layer, as `own_columns` does, or with OTHER as `other_columns`, to result[i].

    Its rows there are (2, n); in its target layer (2, n / k).
    """
    i = tl.program_id(0).to(tl.int64)
    pair = i // k
    a, b, node = tl.load(there + i), tl.load(there + n + i), tl.load(pairs + 2 * pair + 1)
    first, size_a = tl.load(indptr + a), tl.load(indptr + a + 1) - tl.load(indptr + a)
    size_b = tl.load(indptr + b + 1) - tl.load(indptr + b)
    joined = _is_at(neighbour, _search(neighbour, first, size_a, node, size_a), first + size_a, node).to(tl.float32)
    count, adamic, allocation = _sums(a, b, indptr, neighbour, arc_degree, THREADS)
    one, two = size_a.to(tl.float32), size_b.to(tl.float32)
    if HIDDEN:
        one, two = one - joined, two - joined
    low, high = tl.log(1.0 + tl.minimum(one, two)), tl.log(1.0 + tl.maximum(one, two))
    to = result + i * (11 if OTHER else 7)
    tl.store(to, tl.log(1.0 + count))
    tl.store(to + 1, tl.log(1.0 + adamic))
    tl.store(to + 2, tl.sqrt(allocation))
    tl.store(to + 3, low)
    tl.store(to + 4, high)
    tl.store(to + 5, count / tl.maximum(one + two - count, 1.0))
    tl.store(to + 6, low * high)
    if OTHER:
        tl.store(to + 7, joined * (0.0 if HIDDEN else 1.0))
        own_a, own_b = tl.load(row + pair), tl.load(row + n // k + pair)
        _store_cross(own_a, own_b, a, b, indptr, neighbour, arc_degree, to + 8, THREADS)


@triton.jit
def common(
    a, b, indptr, neighbour, start, arc_degree, sums, which, arc, other, LIST: tl.constexpr, THREADS: tl.constexpr
):
    """Write the number of common neighbours of rows a[i] and b[i] to start[i].

    LIST: list them from start[i] on instead: i, arc from a[i], arc from b[i]; and write the sums of `shared_sums`.
    """
    i = tl.program_id(0).to(tl.int64)
    swap, short, size, long, length = _two_lists(tl.load(a + i), tl.load(b + i), indptr)
    count = tl.zeros([THREADS], tl.int64)
    adamic, allocation = tl.zeros([THREADS], tl.float32), tl.zeros([THREADS], tl.float32)
    place = tl.zeros([], tl.int64)
    if LIST:
        place = tl.load(start + i)
    for at in range(0, size, THREADS):
        found, first, second = _look(neighbour, short, size, long, length, at + tl.arange(0, THREADS))
        number = found.to(tl.int64)
        count += number
        if LIST:
            to = place + tl.cumsum(number, 0) - number
            tl.store(which + to, i + tl.zeros([THREADS], tl.int64), mask=found)
            tl.store(arc + to, tl.where(swap, second, first), mask=found)
            tl.store(other + to, tl.where(swap, first, second), mask=found)
            place += tl.sum(number, 0)
            by_log, by_degree = _terms(arc_degree, first, second, found)
            adamic += by_log
            allocation += by_degree
    if LIST:
        tl.store(sums + 3 * i, tl.sum(count, 0).to(tl.float32))
        tl.store(sums + 3 * i + 1, tl.sum(adamic, 0))
        tl.store(sums + 3 * i + 2, tl.sum(allocation, 0))
    else:
        tl.store(start + i, tl.sum(count, 0))


@triton.jit
def weighted(a, b, indptr, neighbour, arc_row, copies, arc_degree, strength, result, THREADS: tl.constexpr):
    """Write the columns of `weighted_columns` of rows a[i] and b[i] to result[i]; threads as in `_sums`."""
    i = tl.program_id(0).to(tl.int64)
    _, short, size, long, length = _two_lists(tl.load(a + i), tl.load(b + i), indptr)
    count, adamic, allocation = (
        tl.zeros([THREADS], tl.float32), tl.zeros([THREADS], tl.float32), tl.zeros([THREADS], tl.float32),
    )  # fmt: skip
    product, least, share = (
        tl.zeros([THREADS], tl.float32), tl.zeros([THREADS], tl.float32), tl.zeros([THREADS], tl.float32),
    )  # fmt: skip
    for at in range(0, size, THREADS):
        found, first, second = _look(neighbour, short, size, long, length, at + tl.arange(0, THREADS))
        x = tl.load(copies + first, mask=found, other=0).to(tl.float32)
        y = tl.load(copies + second, mask=found, other=0).to(tl.float32)
        degree = tl.load(arc_degree + first, mask=found, other=1.0)
        row = tl.load(arc_row + first, mask=found, other=0)
        count += found.to(tl.float32)
        adamic += tl.where(found, 1.0 / tl.log(tl.maximum(degree, 2.0)), 0.0)
        allocation += tl.where(found, 1.0 / degree, 0.0)
        product += x * y
        least += tl.minimum(x, y)
        share += x * y / tl.load(strength + row, mask=found, other=1.0)
    tl.store(result + 6 * i, tl.log(1.0 + tl.sum(count, 0)))
    tl.store(result + 6 * i + 1, tl.log(1.0 + tl.sum(adamic, 0)))
    tl.store(result + 6 * i + 2, tl.sqrt(tl.sum(allocation, 0)))
    tl.store(result + 6 * i + 3, tl.log(1.0 + tl.sum(product, 0)))
    tl.store(result + 6 * i + 4, tl.log(1.0 + tl.sum(least, 0)))
    tl.store(result + 6 * i + 5, tl.sqrt(tl.sum(share, 0)))


@triton.jit
def _signed_log(x):
    return tl.where(x < 0, -1.0, 1.0) * tl.log(1.0 + tl.abs(x))


@triton.jit(do_not_specialize=["n", "num_rows", "num_layers"])
def positions(
    fold, layer, row, vectors, values, degree, size, result, n, num_rows, num_layers,
    RANK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Write the columns of `position_columns` of pair i to result[i]."""
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    here, column = i < n, tl.arange(0, RANK)
    number, of = tl.load(fold + i, mask=here, other=0), tl.load(layer + i, mask=here, other=0)
    at_a = number * num_rows + tl.load(row + i, mask=here, other=0)
    at_b = number * num_rows + tl.load(row + n + i, mask=here, other=0)
    value = tl.load(values + (number * num_layers + of)[:, None] * RANK + column[None, :])
    a = tl.where(value != 0, tl.load(vectors + at_a[:, None] * RANK + column[None, :]), 0.0)
    b = tl.where(value != 0, tl.load(vectors + at_b[:, None] * RANK + column[None, :]), 0.0)
    entry, weight, scale = a * b * value, tl.abs(value), tl.load(size + of)
    whole, later = tl.sum(entry, 1), (column > 0)[None, :]
    length = tl.sum(a * a * weight, 1) * tl.sum(b * b * weight, 1)
    weighted_cosine = tl.sum(a * b * weight, 1) * tl.rsqrt(tl.maximum(length, 1e-12))
    length = tl.sum(tl.where(later, a * a, 0.0), 1) * tl.sum(tl.where(later, b * b, 0.0), 1)
    signs = tl.where(later, a * b * tl.where(value < 0, -1.0, 1.0), 0.0)
    cosine = tl.sum(signs, 1) * tl.rsqrt(tl.maximum(length, 1e-12))
    degrees = tl.load(degree + at_a) * tl.load(degree + at_b)
    first = tl.sum(tl.where((column < 4)[None, :], entry, 0.0), 1)
    tl.store(result + 5 * i, _signed_log(first * scale), mask=here)
    tl.store(result + 5 * i + 1, _signed_log(whole * scale), mask=here)
    tl.store(result + 5 * i + 2, weighted_cosine, mask=here)
    tl.store(result + 5 * i + 3, cosine, mask=here)
    tl.store(result + 5 * i + 4, _signed_log(whole * tl.sqrt(degrees)), mask=here)


@triton.jit(do_not_specialize=["n"])
def having(first, last, target, pair_layer, start, places, n, shift, WAYS: tl.constexpr, MODE: tl.constexpr,
           THREADS: tl.constexpr):  # fmt: skip
    """Go through the layers pair_layer[first[w, i]] to pair_layer[last[w, i]] of pair i, but for its target.

    MODE 0 writes their number to start[i]; 1 lists them from start[i] on, those of way w increased by w * shift.
    """
    i = tl.program_id(0).to(tl.int64)
    own = tl.load(target + i)
    count = tl.zeros([THREADS], tl.int64)
    place = tl.zeros([], tl.int64)
    if MODE == 1:
        place = tl.load(start + i)
    for way in range(WAYS):
        low, high = tl.load(first + way * n + i), tl.load(last + way * n + i)
        for at in range(low, high, THREADS):
            entry = at + tl.arange(0, THREADS)
            layer = tl.load(pair_layer + entry, mask=entry < high, other=0)
            found = (entry < high) & (layer != own)
            number = found.to(tl.int64)
            count += number
            if MODE == 1:
                to = place + tl.cumsum(number, 0) - number
                tl.store(places + to, layer + way * shift, mask=found)
                place += tl.sum(number, 0)
    if MODE == 0:
        tl.store(start + i, tl.sum(count, 0))


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
    x, source, weight, start, count, factor, result, n, width,
    BACK: tl.constexpr, WEIGHTED: tl.constexpr, SHARED: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Write the sum of w x[source] over the arcs from start[i] on, count[i] of them, to row i of the result.

    BACK: add w x[i] to row source[arc] of the result instead. SHARED: times factor[i].
    """
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    inside = (row < n)[:, None] & (column < width)[None, :]
    first = tl.load(start + row, mask=row < n, other=0)
    size = tl.load(count + row, mask=row < n, other=0)
    total = tl.zeros([ROWS, WIDTH], tl.float32)
    times = tl.full([ROWS], 1.0, tl.float32)
    if SHARED:
        times = tl.load(factor + row, mask=row < n, other=0.0)
    if BACK:
        total = tl.load(x + row[:, None] * width + column[None, :], mask=inside, other=0.0) * times[:, None]
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
        tl.store(result + row[:, None] * width + column[None, :], total * times[:, None], mask=inside)


@triton.jit(do_not_specialize=["n"])
def add_silu(x, y, result, n, width, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Write x + silu(y) to the result."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    inside = (row < n)[:, None] & (column < width)[None, :]
    place = row[:, None] * width + column[None, :]
    value = tl.load(y + place, mask=inside, other=0.0)
    value = tl.load(x + place, mask=inside, other=0.0) + value / (1.0 + tl.exp(-value))
    tl.store(result + place, value, mask=inside)


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
def paths(near, far, near_node, far_node, indptr, neighbour, arc_row, arc_degree, result, CAP: tl.constexpr):
    """Write number and weight of the paths of length 3 from near[i] to far[i] to result[i], as `Paths` does.

    First each thread takes one neighbour w of the near node: which of the lists of w and the far node is shorter, and
    where in it the near node is. Then the neighbours w come one after the other, and each thread takes one entry x of
    the shorter list, which is searched in the longer. Of a list with more than CAP entries, CAP stand for all.
    """
    i = tl.program_id(0).to(tl.int64)
    row, end = tl.load(near + i), tl.load(far + i)
    node, other = tl.load(near_node + i), tl.load(far_node + i)
    first, end_first = tl.load(indptr + row), tl.load(indptr + end)
    size, end_size = tl.load(indptr + row + 1) - first, tl.load(indptr + end + 1) - end_first
    thread = tl.arange(0, CAP)
    none = tl.zeros([CAP], tl.int64)
    gap = _search(neighbour, first + none, size + none, other, size)
    joined = _is_at(neighbour, gap, first + size, other).to(tl.int64)
    degree = size - joined  # the same in all threads, as `gap` and `joined` are
    taken = tl.minimum(degree, CAP)
    here = thread < taken
    arc = first + tl.where(degree > CAP, thread * degree // CAP, thread)
    arc += ((joined == 1) & (arc >= gap)).to(tl.int64)
    middle = tl.load(arc_row + arc, mask=here, other=0)
    begin = tl.load(indptr + middle, mask=here, other=0)
    length = tl.load(indptr + middle + 1, mask=here, other=0) - begin
    swap = length - 1 > end_size - joined
    short, short_size = tl.where(swap, end_first, begin), tl.where(swap, end_size, length)
    long, long_size = tl.where(swap, begin, end_first), tl.where(swap, length, end_size)
    most = tl.maximum(tl.max(length, 0), end_size)
    hole = _search(neighbour, short, tl.where(here, short_size, 0), node, most)
    there = here & _is_at(neighbour, hole, short + short_size, node)
    hole = tl.where(there, hole, short + short_size)
    rest = short_size - there.to(tl.int64)
    stands = (degree / tl.maximum(taken, 1)) * (rest / tl.maximum(tl.minimum(rest, CAP), 1))
    stands = tl.where(here, stands, 0.0).to(tl.float32)
    share = stands * tl.rsqrt(tl.load(arc_degree + arc, mask=here, other=1.0))
    count, weight = tl.zeros([CAP], tl.float32), tl.zeros([CAP], tl.float32)
    for step in range(tl.max(taken, 0)):
        which = step + tl.zeros([CAP], tl.int32)
        left = tl.gather(rest, which, 0)
        entry = tl.gather(short, which, 0) + tl.where(left > CAP, thread * left // CAP, thread)
        entry += (entry >= tl.gather(hole, which, 0)).to(tl.int64)
        asked = thread < left
        wanted = tl.load(neighbour + entry, mask=asked, other=-1)
        low, extent = tl.gather(long, which, 0), tl.gather(long_size, which, 0)
        found = _search(neighbour, low, tl.where(asked, extent, 0), wanted, most)
        found = asked & _is_at(neighbour, found, low + extent, wanted)
        count += tl.where(found, tl.gather(stands, which, 0), 0.0)
        by_degree = tl.rsqrt(tl.load(arc_degree + entry, mask=found, other=1.0))
        weight += tl.where(found, tl.gather(share, which, 0) * by_degree, 0.0)
    tl.store(result + 2 * i, tl.sum(count, 0))
    tl.store(result + 2 * i + 1, tl.sum(weight, 0))
