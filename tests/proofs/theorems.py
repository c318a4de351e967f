"""What is proved: definitions that know nothing of the code, and that the model's results equal them.

A theorem is a function of a width that gives assumptions, the model's obligations, and claims. It holds if no values of
that width make the assumptions true and an obligation or a claim false. Definitions are in words with room to spare,
so that nothing in them wraps.
"""

import z3

import model
from words import Machine

PLANTED = None  # the fault that the model has


class Theorem:
    def __init__(self, machine, assumptions, claims):
        self.assumptions, self.claims = assumptions, [*machine.obligations, *claims]


def dimension(m):
    """A dimension as Dimension::with_origin leaves it, which the theorem `origins` shows, and what holds of it."""
    length, chunklen, lead, first_chunk = map(m.unknown, ["len", "chunklen", "lead", "first_chunk"])
    assumptions = [
        z3.ULE(length, m.word(1 << (m.width - 1))), chunklen != 0,
        z3.Or(lead == 0, z3.And(z3.ULE(chunklen, m.signed_max), z3.ULT(lead, chunklen))),
    ]
    return model.Dimension(m, length, chunklen, first_chunk, lead, PLANTED), assumptions


def ascending(m, d, suffix=""):
    """A slice as Slice::fitting leaves it, which the theorem `slices` shows, of one element at least."""
    start, count, stride = (m.unknown(name + suffix) for name in ["start", "count", "stride"])
    piece = model.Slice.__new__(model.Slice)
    piece.m, piece.start, piece.count, piece.stride = m, start, count, stride
    last = m.wide(start) + (m.wide(count) - 1) * m.wide(stride)
    assumptions = [count != 0, stride != 0, z3.ULE(stride, m.word(1 << (m.width - 1))), z3.ULT(last, m.wide(d.len))]
    return piece, assumptions


def projections(m):
    d, of_dimension = dimension(m)
    piece, of_slice = ascending(m, d)
    p = model.Projections(m, d, piece, PLANTED)
    # The definition: selected element k has this position.
    def position(k):
        return m.wide(d.lead) + m.wide(piece.start) + m.wide(k) * m.wide(piece.stride)

    return p, position, of_dimension + of_slice


def checks(width):
    """A request is refused where netCDF refuses it: start beyond the dimension, or the last element outside of it."""
    m = Machine(width, True)
    length, start, count, stride = map(m.unknown, ["len", "start", "count", "stride"])
    check_edge = z3.Bool("check_edge")
    beyond, edge = model.check(m, length, start, count, stride, check_edge, PLANTED)
    last = m.wide(start) + (m.wide(count) - 1) * m.wide_signed(stride)
    inside = z3.And(last >= 0, last < m.wide(length))
    return Theorem(m, [z3.ULE(length, m.word(1 << (width - 1))), stride != 0], [
        beyond == z3.Or(z3.UGT(start, length), z3.And(start == length, count != 0)),
        # Without elements there is no last one; a start that is refused is refused first.
        z3.Implies(z3.Not(beyond), edge == z3.And(check_edge, count != 0, z3.Not(inside))),
    ])


def slices(width):
    """A request that is accepted is an ascending slice with the same elements, which fits the dimension."""
    m = Machine(width, True)
    length, start, count, stride, k = map(m.unknown, ["len", "start", "count", "stride", "k"])
    beyond, edge = model.check(m, length, start, count, stride, z3.BoolVal(True))
    m.obligations.clear()
    piece = model.Slice(m, start, count, stride)
    first = m.wide(start) + m.wide(k) * m.wide_signed(stride)
    mirrored = z3.If(stride < 0, count - 1 - k, k)
    same = m.wide(piece.start) + m.wide(mirrored) * m.wide(piece.stride)
    last = m.wide(piece.start) + (m.wide(count) - 1) * m.wide(piece.stride)
    assumptions = [z3.ULE(length, m.word(1 << (width - 1))), stride != 0, z3.Not(beyond), z3.Not(edge)]
    return Theorem(m, assumptions, [
        z3.Implies(z3.ULT(k, count), first == same),
        z3.Implies(count != 0, z3.ULT(last, m.wide(length))),
        z3.ULE(piece.start, length), piece.stride != 0,
    ])


def origins(width):
    """An origin is accepted if all indices fit, and then the first chunk and the lead are those of floor division."""
    m = Machine(width, True)
    length, chunklen, origin, e = map(m.unknown, ["len", "chunklen", "origin", "e"])
    accepted, d = model.Dimension(m, length, chunklen, planted=PLANTED).with_origin(origin)
    begin, size = m.wide_signed(d.first_chunk) * m.wide(chunklen), m.wide(chunklen)
    last = m.wide_signed(origin) + m.wide(z3.If(length == 0, m.word(0), length - 1))

    def fits(value):
        return z3.And(value >= -(1 << (width - 1)), value < 1 << (width - 1))

    m.path.append(z3.And(accepted, length != 0))  # what follows is only asked of such a dimension
    num_chunks, at, end = d.num_chunks(), d.position(e), d.position(length)
    last_chunk = m.wide_signed(d.first_chunk) + m.wide(num_chunks) - 1
    return Theorem(m, [chunklen != 0, z3.ULE(chunklen, m.signed_max), z3.ULE(length, m.word(1 << (width - 1))),
                       z3.ULE(e, length)], [
        begin <= m.wide_signed(origin), m.wide_signed(origin) < begin + size,
        accepted == z3.And(fits(begin), fits(last)),
        z3.Implies(accepted, z3.And(
            m.wide_signed(origin) == begin + m.wide(d.lead), d.origin() == origin, z3.ULE(at, end),
            z3.Implies(length != 0, z3.And(
                fits(last_chunk), last_chunk * size <= last, last < last_chunk * size + size,
                m.wide_signed(d.chunk_index(num_chunks - 1)) == last_chunk)))),
    ])


def each_projection(width):
    """Projection p has those elements of the slice that lie in its chunk, no more and no less, at their places."""
    m = Machine(width, True)
    ps, position, assumptions = projections(m)
    p, k = m.unknown("p"), m.unknown("k")
    one = ps.get(p)
    d, piece = ps.dimension, ps.slice
    chunk, size = m.wide(d.chunk_at(one["chunk_index"])), m.wide(d.chunklen)
    end = m.wide(one["iopos"]) + m.wide(one["iocount"])
    lies_in_chunk = z3.And(z3.ULE(chunk * size, position(k)), z3.ULT(position(k), chunk * size + size))
    is_among = z3.And(z3.ULE(one["iopos"], k), z3.ULT(m.wide(k), end))
    room = m.wide(d.lead) + m.wide(d.len) - chunk * size
    return Theorem(m, assumptions + [z3.ULT(p, ps.len)], [
        z3.Implies(z3.ULT(k, piece.count), lies_in_chunk == is_among),
        one["iocount"] != 0, z3.ULE(end, m.wide(piece.count)),
        m.wide(one["first"]) == position(one["iopos"]) - chunk * size,
        m.wide(one["last"]) == position(one["iopos"] + one["iocount"] - 1) - chunk * size,
        m.wide(one["limit"]) == z3.If(z3.ULT(room, size), room, size),
        z3.ULT(one["last"], one["limit"]),
    ])


def all_projections(width):
    """The projections follow one another without a gap from the first element to the last, in ascending chunks."""
    m = Machine(width, True)
    ps, _, assumptions = projections(m)
    p = m.unknown("p")
    one, next_one, first, last = ps.get(p), ps.get(p + 1), ps.get(m.word(0)), ps.get(ps.len - 1)
    m.obligations.clear()  # those of each_projection
    index = ps.dimension.chunk_at
    return Theorem(m, assumptions + [z3.ULT(p, ps.len)], [
        first["iopos"] == 0,
        last["iopos"] + last["iocount"] == ps.slice.count,
        z3.Implies(z3.ULT(p, ps.len - 1), z3.And(
            one["iopos"] + one["iocount"] == next_one["iopos"],
            z3.ULT(index(one["chunk_index"]), index(next_one["chunk_index"])))),
    ])


def next_projection(width):
    """The projection after one is the next one."""
    m = Machine(width, True)
    ps, _, assumptions = projections(m)
    p = m.unknown("p")
    one, next_one = ps.get(p), ps.get(p + 1)
    m.obligations.clear()
    found = ps.after(one)
    return Theorem(m, assumptions + [z3.ULT(p, ps.len - 1)], [found[key] == next_one[key] for key in found])


def covered(width):
    """A chunk is covered if and only if every element of the dimension that lies in it is selected."""
    m = Machine(width, True)
    ps, _, assumptions = projections(m)
    p, e = m.unknown("p"), m.unknown("e")
    one = ps.get(p)
    m.obligations.clear()
    covers = ps.covers(one)
    d, piece = ps.dimension, ps.slice
    chunk, size = m.wide(d.chunk_at(one["chunk_index"])), m.wide(d.chunklen)

    def is_inside(element):
        at = m.wide(d.lead) + m.wide(element)
        return z3.And(z3.ULT(element, d.len), z3.ULE(chunk * size, at), z3.ULT(at, chunk * size + size))

    def is_selected(element):
        return z3.And(z3.UGE(element, piece.start), z3.URem(element - piece.start, piece.stride) == 0,
                      z3.ULT(z3.UDiv(element - piece.start, piece.stride), piece.count))

    # If it is not covered there is an element that is not selected: one beside the first or the last selected one.
    begin = chunk * size - m.wide(d.lead)
    first = z3.Extract(width - 1, 0, begin + m.wide(one["first"]))
    last = z3.Extract(width - 1, 0, begin + m.wide(one["last"]))
    missing = [z3.And(is_inside(near), z3.Not(is_selected(near))) for near in [first - 1, first + 1, last + 1]]
    return Theorem(m, assumptions + [z3.ULT(p, ps.len)], [
        z3.Implies(z3.And(covers, is_inside(e)), is_selected(e)),
        z3.Implies(z3.Not(covers), z3.Or(*missing)),
    ])


def count_covered(width):
    """Between the first touched chunk and the last all chunks are covered or none is; nothing wraps in counting."""
    m = Machine(width, True)
    ps, _, assumptions = projections(m)
    p = m.unknown("p")
    one = ps.get(p)
    m.obligations.clear()
    covers = ps.covers(one)
    m.obligations.clear()
    total = ps.num_covered()
    return Theorem(m, assumptions + [z3.ULT(p, ps.len)], [
        z3.Implies(z3.And(p != 0, z3.ULT(p, ps.len - 1)),
                   covers == z3.Or(ps.slice.stride == 1, ps.dimension.chunklen == 1)),
        z3.ULE(total, ps.len),
    ])


def intersections_dense(width):
    """Two slices that touch every chunk between their ends share one if their ranges of chunks overlap."""
    m = Machine(width, True)
    d, assumptions = dimension(m)
    both = []
    for suffix in ["_a", "_b"]:
        piece, of_slice = ascending(m, d, suffix)
        both.append(model.Projections(m, d, piece, PLANTED))
        assumptions += [*of_slice, both[-1].is_dense]
    a, b = both
    shares = z3.And(z3.ULT(a.first_chunk, m.add(b.first_chunk, b.len)),
                    z3.ULT(b.first_chunk, m.add(a.first_chunk, a.len)))
    c = m.unknown("c")

    def touches(s, c):
        return z3.And(z3.ULE(s.first_chunk, c), z3.ULT(c - s.first_chunk, s.len))

    witness = z3.If(z3.ULT(a.first_chunk, b.first_chunk), b.first_chunk, a.first_chunk)
    return Theorem(m, assumptions, [
        z3.Implies(z3.And(touches(a, c), touches(b, c)), shares),
        z3.Implies(shares, z3.And(touches(a, witness), touches(b, witness))),
    ])


def intersections_sparse(width):
    """A slice with gaps between its chunks touches one of a range of chunks if one of its elements lies in them."""
    m = Machine(2 * width, True)  # the code computes in u128
    small = Machine(width, True)
    names = ["start", "count", "stride", "chunklen", "first_chunk", "num_chunks", "k"]
    narrow = [small.unknown(name) for name in names]
    start, count, stride, chunklen, first_chunk, num_chunks, k = (z3.ZeroExt(width, word) for word in narrow)
    d = model.Dimension(m, m.word(0), chunklen)
    ps = model.Projections.__new__(model.Projections)
    piece = model.Slice.__new__(model.Slice)
    piece.start, piece.count, piece.stride = start, count, stride
    ps.m, ps.dimension, ps.slice, ps.start, ps.planted = m, d, piece, start, PLANTED
    touches = ps.touches_any(first_chunk, num_chunks)
    wide = lambda word: z3.ZeroExt(8, word)
    at = lambda k: wide(start) + wide(k) * wide(stride)
    begin = wide(first_chunk) * wide(chunklen)
    end = (wide(first_chunk) + wide(num_chunks)) * wide(chunklen)
    inside = lambda k: z3.And(z3.ULT(k, count), z3.ULE(begin, at(k)), z3.ULT(at(k), end))
    rest = z3.If(z3.ULT(wide(start), begin), begin - wide(start), 0)
    witness = z3.Extract(2 * width - 1, 0, z3.UDiv(rest + wide(stride) - 1, wide(stride)))
    valid = [stride != 0, chunklen != 0, z3.ULT(wide(first_chunk) * wide(chunklen), 1 << width),
             z3.ULT((wide(first_chunk) + wide(num_chunks)) * wide(chunklen), 2 << width), count != 0,
             z3.ULT(at(count - 1), 1 << width)]
    return Theorem(m, valid, [z3.Implies(inside(k), touches), z3.Implies(touches, inside(witness))])


def parts(width):
    """The parts of a plan begin at 0, end at its end, follow one another, and differ by one chunk at most."""
    m = Machine(2 * width, True)  # the code computes in u128
    num_chunks, num_parts, part = (z3.ZeroExt(width, Machine(width, True).unknown(n)) for n in ["n", "parts", "part"])
    begin = lambda part: model.begin_of_part(m, part, num_chunks, num_parts, PLANTED)
    low, high = begin(part), begin(part + 1)
    share = z3.UDiv(num_chunks, num_parts)
    return Theorem(m, [num_parts != 0, z3.ULT(part, num_parts)], [
        begin(m.word(0)) == 0, begin(num_parts) == num_chunks, z3.ULE(high, num_chunks),
        z3.ULE(low, high), z3.Or(high - low == share, high - low == share + 1),
    ])


def layouts(width):
    """Memory is accepted if and only if every element lies in it; two dimensions of any strides."""
    m = Machine(width, True)
    size, first, length = map(m.unknown, ["size", "first", "length"])
    counts, strides, k = ([m.unknown(f"{name}{d}") for d in range(2)] for name in ["count", "stride", "k"])
    low, high = model.reach(m, size, counts, strides, PLANTED)
    accepted = model.is_inside(m, first, length, low, high)
    wide = lambda word: z3.ZeroExt(width + 4, word)
    signed = lambda word: z3.SignExt(width + 4, word)

    def is_inside(k):
        at = wide(first) + sum(wide(k[d]) * signed(strides[d]) for d in range(2))
        return z3.And(at >= 0, at + wide(size) <= wide(length))

    valid = [size != 0, *(count != 0 for count in counts), *(z3.ULT(k[d], counts[d]) for d in range(2))]
    corners = [[z3.If((strides[d] < 0) == side, counts[d] - 1, m.word(0)) for d in range(2)] for side in [True, False]]
    return Theorem(m, valid, [
        z3.Implies(accepted, is_inside(k)),
        z3.Implies(z3.And(z3.ULE(length, m.signed_max), *map(is_inside, corners)), accepted),
    ])


def disjoint(width):
    """Where the elements are said to be disjoint, no two of them share a byte."""
    m = Machine(width, True)
    size = m.unknown("size")
    counts, strides, k, l = ([m.unknown(f"{name}{d}") for d in range(2)] for name in ["count", "stride", "k", "l"])
    accepted = model.is_disjoint(m, size, counts, strides, PLANTED)
    wide, signed = (lambda word: z3.ZeroExt(width + 4, word)), (lambda word: z3.SignExt(width + 4, word))
    distance = sum((wide(k[d]) - wide(l[d])) * signed(strides[d]) for d in range(2))
    differ = z3.Or(*(k[d] != l[d] for d in range(2)))
    valid = [size != 0, *(z3.UGT(count, 1) for count in counts)]
    valid += [z3.ULT(word, counts[d]) for words in [k, l] for d, word in enumerate(words)]
    return Theorem(m, valid + [differ], [z3.Implies(accepted, z3.Or(distance >= wide(size), -distance >= wide(size)))])


def classic(width):
    """An offset in a classic file is the sum of its products, or it is refused because it is beyond a file."""
    m = Machine(width, True)
    begin, recsize, typesize = map(m.unknown, ["begin", "recsize", "typesize"])
    lengths, indices = ([m.unknown(f"{name}{d}") for d in range(2)] for name in ["length", "index"])
    is_record = z3.Bool("is_record")
    fits, offset = model.classic_offset(m, begin, recsize, typesize, lengths, indices, is_record, PLANTED)
    wide = lambda word: z3.ZeroExt(2 * width + 4, word)
    slow = z3.If(is_record, wide(recsize), wide(typesize) * wide(lengths[1]))
    exact = wide(begin) + wide(indices[0]) * slow + wide(indices[1]) * wide(typesize)
    valid = [typesize != 0, z3.ULT(indices[1], lengths[1]), z3.Or(is_record, z3.ULT(indices[0], lengths[0]))]
    return Theorem(m, valid, [
        fits == z3.ULE(exact, wide(m.signed_max)), z3.Implies(fits, wide(offset) == exact),
    ])


def reciprocals(width):
    """A multiplication by the reciprocal gives the quotient, for positions and chunks of half a word."""
    m = Machine(width, True)
    half = width // 2
    position, chunklen = (z3.ZeroExt(width - half, z3.BitVec(name, half)) for name in ["position", "chunklen"])
    reciprocal = model.reciprocal(m, chunklen)
    product = z3.ZeroExt(width, position) * z3.ZeroExt(width, reciprocal)
    quotient = z3.Extract(2 * width - 1, width, product)
    if PLANTED == "reciprocal":
        quotient = z3.Extract(2 * width - 1, width, product - z3.ZeroExt(width, position))
    return Theorem(m, [z3.UGT(chunklen, 1)], [quotient == z3.UDiv(position, chunklen)])


def runs(width):
    """The elements of a slice that lie in a run of chunks are a slice of the run, with the same stride."""
    m = Machine(width, True)
    d, of_dimension = dimension(m)
    piece, of_slice = ascending(m, d)
    begin, end, k = map(m.unknown, ["begin", "end", "k"])
    start, count, first = model.within(m, piece, begin, end, PLANTED)
    element = m.wide(piece.start) + m.wide(k) * m.wide(piece.stride)
    is_inside = z3.And(m.wide(begin) <= element, element < m.wide(end))
    is_told = z3.And(z3.ULE(first, k), m.wide(k) < m.wide(first) + m.wide(count))
    place = m.wide(begin) + m.wide(start) + (m.wide(k) - m.wide(first)) * m.wide(piece.stride)
    return Theorem(m, of_dimension + of_slice + [z3.ULE(begin, end), z3.ULT(k, piece.count)], [
        is_inside == is_told, z3.Implies(is_told, place == element)])


# Each theorem, the widths of the full and of the short form, and the faults that it notices.
BOUNDED = [
    (checks, [8, 12], [8], ["edge"]),
    (slices, [8], [6], []),
    (origins, [8], [5], ["lead"]),
    (each_projection, [5], [3], ["rounding", "limit", "dense"]),
    (all_projections, [5], [3], ["rounding"]),
    (next_projection, [5], [3], []),
    (covered, [5], [3], ["covers"]),
    (count_covered, [5], [3], []),
    (intersections_dense, [8], [4], []),
    (intersections_sparse, [5], [4], ["touches"]),
    (runs, [6], [4], ["within"]),
    (parts, [6], [4], ["part"]),
    (layouts, [5], [4], ["reach"]),
    (disjoint, [5], [4], ["disjoint"]),
    (classic, [8], [6], ["offset"]),
    (reciprocals, [8, 12], [8, 12], ["reciprocal"]),
]
