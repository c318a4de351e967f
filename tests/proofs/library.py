"""Whether the model is the library's arithmetic: both are asked the same, for all small cases, through the C interface.

A model that no longer matches the code fails here, and a proof is worth nothing then.
"""

import ctypes
import itertools
from ctypes import POINTER, Structure, byref, c_int, c_size_t, c_ssize_t, c_uint64, c_void_p

import model
from words import Machine, Overflow

FIELDS = ["chunk_index", "offset", "first", "last", "limit", "iopos", "iocount"]
EVARSIZE, EDIMSIZE = -62, -63


class Projection(Structure):
    _fields_ = [(name, c_ssize_t if name in FIELDS[:2] else c_size_t) for name in FIELDS]


class Library:
    """The functions of the C interface, as Python calls them."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        for name in ["var_free", "plan_free"]:
            getattr(self.c, "nczchunk_" + name).argtypes = [c_void_p]

    def projections(self, dimlen, chunklen, start, count, stride):
        """A status, and how many there are; then each of them in its place."""
        needed = c_size_t()
        capacity = 16
        out = (Projection * capacity)()
        status = self.c.nczchunk_projections(
            c_size_t(dimlen), c_size_t(chunklen), c_size_t(start), c_size_t(count), c_ssize_t(stride), out,
            c_size_t(ctypes.sizeof(Projection)), c_size_t(capacity), byref(needed), None)
        return status, [{name: getattr(one, name) for name in FIELDS} for one in out[:needed.value]]

    def variable(self, dimlens, chunklens, origins=(), element_size=1):
        var, rank = c_void_p(), len(dimlens)
        sizes = c_size_t * rank
        assert self.c.nczchunk_var_new(c_size_t(rank), sizes(*dimlens), sizes(*chunklens), c_size_t(element_size),
                                       byref(var), None) == 0
        for d, origin in enumerate(origins):
            status = self.c.nczchunk_var_set_origin(var, c_size_t(d), c_ssize_t(origin), None)
            if status:
                self.c.nczchunk_var_free(var)
                return None
        return var

    def plan(self, var, start, count, stride, access=0):
        plan, rank = c_void_p(), len(start)
        sizes, steps = c_size_t * rank, c_ssize_t * rank
        status = self.c.nczchunk_plan_new(var, sizes(*start), sizes(*count), steps(*stride), c_int(access),
                                          byref(plan), None)
        return status, plan

    def chunk(self, plan, i):
        one, covered = Projection(), c_int()
        assert self.c.nczchunk_plan_chunk(plan, c_size_t(i), byref(one), c_size_t(ctypes.sizeof(one)), byref(covered),
                                          None) == 0
        return {name: getattr(one, name) for name in FIELDS}, covered.value


def equal(about, found, expected):
    if found != expected:
        raise AssertionError(f"{about}: the library has {found}, the model {expected}")


def slices(library, m, planted):
    """Every request of one dimension, also those that are refused, and all its projections."""
    number = 0
    for length, chunklen in itertools.product(range(7), range(1, 9)):
        d = model.Dimension(m, length, chunklen, planted=planted)
        for start, count, stride in itertools.product(range(9), range(9), range(1, 10)):
            beyond, edge = model.check(m, length, start, count, stride, True, planted)
            status = model.EINVALCOORDS if beyond else model.EEDGE if edge else 0
            expected = []
            if not status:
                ps = model.Projections(m, d, model.Slice(m, start, count, stride), planted)
                expected = [signed(m, ps.get(p)) for p in range(ps.len)]
                for one, next_one in itertools.pairwise(range(ps.len)):
                    equal("after", ps.after(ps.get(one)), ps.get(next_one))
            about = f"length {length}, chunks of {chunklen}, request {start, count, stride}"
            equal(about, library.projections(length, chunklen, start, count, stride), (status, expected))
            number += 1
    # What is near to the ends of a word.
    ends = [0, 1, 2, 3, (1 << 63) - 2, (1 << 63) - 1, 1 << 63, (1 << 64) - 2, (1 << 64) - 1]
    for length, start, count, stride in itertools.product(ends[:7], ends, ends, ends[1:6]):
        beyond, edge = model.check(m, length, start, count, stride, True, planted)
        status = model.EINVALCOORDS if beyond else model.EEDGE if edge else 0
        if status or count < 10:
            found, _ = library.projections(length, 1 << 62, start, count, stride)
            equal(f"length {length}, request {start, count, stride}", found, status)
            number += 1
    return number


def signed(m, projection):
    return {name: m.signed(value) if name in FIELDS[:2] else value for name, value in projection.items()}


def origins(library, m, planted):
    """Chunks that begin before the dimension does, forwards and backwards, and what is covered."""
    number = 0
    least, most = -(1 << 63), (1 << 63) - 1
    for length, chunklen, origin in itertools.product(
            [0, 1, 4, 6], [1, 2, 3, 5], [*range(-7, 8), least, least + 1, least + 5, most, most - 3, most - 6]):
        accepted, d = model.Dimension(m, length, chunklen, planted=planted).with_origin(origin % (1 << m.width))
        var = library.variable([length], [chunklen], [origin])
        equal(f"length {length}, chunks of {chunklen}, origin {origin}", var is not None, accepted)
        if not accepted:
            continue
        for start, count, stride in itertools.product(range(length), range(1, length + 1), [1, 2, 3]):
            if start + (count - 1) * stride >= length:
                continue
            ps = model.Projections(m, d, model.Slice(m, start, count, stride), planted)
            status, plan = library.plan(var, [start], [count], [stride])
            equal("status", status, 0)
            for p in range(ps.len):
                one = ps.get(p)
                about = f"length {length}, chunks of {chunklen} from {origin}, request {start, count, stride}, {p}"
                equal(about, library.chunk(plan, p), (signed(m, one), int(ps.covers(one))))
                number += 1
            library.c.nczchunk_plan_free(plan)
        library.c.nczchunk_var_free(var)
    return number


def parts_and_intersections(library, m, planted):
    """The parts of plans, and whether two plans share chunks."""
    number = 0
    wide = Machine(128, False)
    first, count = c_size_t(), c_size_t()
    var = library.variable([24], [3])
    d = model.Dimension(m, 24, 3, planted=planted)
    requests = [(start, n, stride) for start in range(0, 24, 3) for n in [1, 2, 4] for stride in [1, 2, 4, 7, 10]
                if start + (n - 1) * stride < 24]
    plans = [(request, library.plan(var, *([word] for word in request), access=1)[1]) for request in requests]
    for request, plan in plans:
        ps = model.Projections(m, d, model.Slice(m, *request), planted)
        for num_parts in [1, 2, 3, 5, 9]:
            for part in range(num_parts):
                assert library.c.nczchunk_plan_part(plan, c_size_t(part), c_size_t(num_parts), byref(first),
                                                    byref(count), None) == 0
                begin, end = (model.begin_of_part(wide, part + i, ps.len, num_parts, planted) for i in range(2))
                equal(f"part {part} of {num_parts} of {request}", (first.value, count.value), (begin, end - begin))
                number += 1
        for other, other_plan in plans:
            others = model.Projections(m, d, model.Slice(m, *other), planted)
            shared = c_int()
            assert library.c.nczchunk_plan_shares_chunks(plan, other_plan, byref(shared), None) == 0
            equal(f"{request} and {other}", shared.value, int(shares(m, wide, ps, others)))
            number += 1
    for _, plan in plans:
        library.c.nczchunk_plan_free(plan)
    library.c.nczchunk_var_free(var)
    return number


def shares(m, wide, a, b):
    """Projections::shares_chunk; where both have gaps, by the chunks of both."""
    if a.is_dense and b.is_dense:
        return a.first_chunk < m.add(b.first_chunk, b.len) and b.first_chunk < m.add(a.first_chunk, a.len)
    if a.is_dense or b.is_dense:
        dense, sparse = (a, b) if a.is_dense else (b, a)
        other = model.Projections.__new__(model.Projections)
        other.__dict__.update(sparse.__dict__, m=wide)
        return other.touches_any(dense.first_chunk, dense.len)
    return not {a.get(p)["chunk_index"] for p in range(a.len)}.isdisjoint(b.get(p)["chunk_index"] for p in range(b.len))


def layouts(library, m, planted):
    """Memory that is large enough or not, for two dimensions with strides of either sign."""
    number = 0
    var = library.variable([3, 2], [2, 2], element_size=2)
    sizes, steps = c_size_t * 2, c_ssize_t * 2
    counts = [3, 2]
    extremes = [-(1 << 63), (1 << 63) - 1, 1 << 62]
    for strides in itertools.product([-7, -4, -2, -1, 0, 1, 2, 4, 7, *extremes], repeat=2):
        words = [stride % (1 << m.width) for stride in strides]
        low, high = model.reach(m, 2, counts, words, planted)
        for first, length in itertools.product([0, 1, 2, 9, 14, 18], [1, 2, 3, 10, 16, 19, 20, 34, (1 << 64) - 1]):
            plan = c_void_p()
            status = library.c.nczchunk_plan_new_strided(
                var, sizes(0, 0), sizes(*counts), None, c_size_t(length), c_size_t(first), steps(*strides), c_int(0),
                byref(plan), None)
            library.c.nczchunk_plan_free(plan)
            about = f"strides {strides}, element at {first} of {length}"
            equal(about, status == 0, bool(model.is_inside(m, first, length, low, high)))
            number += 1
    library.c.nczchunk_var_free(var)
    return number


def classic(library, m, planted):
    """Offsets in classic files, small ones and those beyond what a file can have."""
    number = 0
    sizes = c_size_t * 2
    out = c_uint64()
    for lengths, typesize, begin, extra in itertools.product(
            [(0, 3), (4, 3), (1 << 31, 1 << 29), (0, 1 << 40)], [1, 4, 8], [0, 100, (1 << 63) - 100], [0, 8, 1 << 40]):
        is_record = lengths[0] == 0
        size = typesize * lengths[1]
        if not is_record and size * lengths[0] >= 1 << 63:
            continue
        recsize = size + extra
        for indices in itertools.product([0, 1, 3, 1 << 30, 1 << 50], [0, 2, lengths[1] - 1]):
            if not is_record and indices[0] >= lengths[0]:
                continue
            status = library.c.nczchunk_classic_offset(
                c_size_t(2), sizes(*lengths), c_size_t(typesize), c_uint64(begin), c_uint64(recsize), sizes(*indices),
                byref(out), None)
            fits, offset = model.classic_offset(m, begin, recsize, typesize, list(lengths), list(indices), is_record,
                                                planted)
            about = f"offset of {indices} in {lengths}, records of {recsize}, from {begin}"
            equal(about, (status, out.value if fits else None), (0 if fits else EVARSIZE, offset if fits else None))
            number += 1
    return number


def lists(library, m, planted):
    """Chunks with a list of lengths: the projections are those onto the runs of the list, one after another."""
    number = 0
    for runs in itertools.product([(1, 2), (2, 1), (2, 3), (1, 4)], repeat=2):
        lengths = [length for num, length in runs for _ in range(num)]
        total = sum(lengths)
        var, sizes = library.variable([total], [1]), c_size_t * len(lengths)
        assert library.c.nczchunk_var_set_chunk_lengths(var, c_size_t(0), c_size_t(len(lengths)), sizes(*lengths), None,
                                                        None) == 0
        for start, count, stride in itertools.product(range(total), range(1, total + 1), [1, 2, 3, 5]):
            if start + (count - 1) * stride >= total:
                continue
            expected, begin, first_chunk = [], 0, 0
            for num, length in runs:
                piece = model.Slice(m, start, count, stride)
                of_run = model.Slice.__new__(model.Slice)
                of_run.m, of_run.stride = m, stride
                of_run.start, of_run.count, before = model.within(m, piece, begin, begin + num * length, planted)
                ps = model.Projections(m, model.Dimension(m, num * length, length), of_run)
                for one in (ps.get(p) for p in range(ps.len)):
                    expected.append(one | {"chunk_index": one["chunk_index"] + first_chunk,
                                           "offset": one["offset"] + begin, "iopos": one["iopos"] + before})
                begin, first_chunk = begin + num * length, first_chunk + num
            status, plan = library.plan(var, [start], [count], [stride])
            equal("status", status, 0)
            for p, one in enumerate(expected):
                about = f"chunks of {lengths}, request {start, count, stride}, {p}"
                equal(about, library.chunk(plan, p), (one, int(one["iocount"] == one["limit"])))
                number += 1
            library.c.nczchunk_plan_free(plan)
        library.c.nczchunk_var_free(var)
    return number


GROUPS = [slices, origins, lists, parts_and_intersections, layouts, classic]


def compare(path, planted=None):
    """Compares all; the number of cases. Raises AssertionError at the first difference, Overflow if the model's
    arithmetic wraps."""
    library, m = Library(path), Machine(64, False)
    return {group.__name__: group(library, m, planted) for group in GROUPS}


def notices(path, planted):
    """Whether a fault of the model is noticed by a comparison."""
    try:
        compare(path, planted)
    except (AssertionError, Overflow):
        return True
    return False
