"""What is proved for words of any width: see integers.py. The definitions are those of theorems.py."""

import z3

import model
from integers import Integers, Theorem

PLANTED = None


def projections(m):
    """Of a dimension as Dimension::with_origin leaves it, and a slice as Slice::fitting does: not empty, and inside."""
    length, chunklen, lead, first_chunk = map(m.unknown, ["len", "chunklen", "lead", "first_chunk"])
    start, count, stride = map(m.unknown, ["start", "count", "stride"])
    d = model.Dimension(m, length, chunklen, first_chunk, lead, PLANTED)
    piece = model.Slice.__new__(model.Slice)
    piece.m, piece.start, piece.count, piece.stride = m, start, count, stride
    steps = m.product(count - 1, stride)
    assumptions = [
        length >= 0, length <= m.half, chunklen >= 1, chunklen <= m.limit, lead >= 0, lead < chunklen,
        z3.Or(lead == 0, chunklen < m.half), count >= 1, stride >= 1, stride <= m.half, start >= 0,
        start + steps < length,
    ]

    def position(k):
        return lead + start + m.product(k, stride)

    return model.Projections(m, d, piece, PLANTED), position, assumptions


def one_of(m, ps, p):
    """The p-th projection, and that it is one. The lemma is needed of what is multiplied here."""
    one = ps.get(p)
    for steps in [one["iocount"], one["iocount"] - 1, one["iopos"] + one["iocount"], one["iopos"]]:
        m.product(steps, ps.slice.stride)
    m.product(ps.dimension.chunk_at(one["chunk_index"]), ps.dimension.chunklen)
    return [p >= 0, p < ps.len], one


def each_projection():
    """Projection p has those elements of the slice that lie in its chunk, no more and no less, at their places."""
    m = Integers()
    ps, position, assumptions = projections(m)
    p, k = m.unknown("p"), m.unknown("k")
    in_range, one = one_of(m, ps, p)
    d, piece = ps.dimension, ps.slice
    begin = m.product(d.chunk_at(one["chunk_index"]), d.chunklen)
    end = one["iopos"] + one["iocount"]
    at = position(k)
    m.product(k - one["iopos"], piece.stride)
    lies_in_chunk = z3.And(begin <= at, at < begin + d.chunklen)
    is_among = z3.And(one["iopos"] <= k, k < end)
    room = d.lead + d.len - begin
    return Theorem(m, [*assumptions, *in_range, k >= 0, k < piece.count], [
        lies_in_chunk == is_among, one["iocount"] >= 1, end <= piece.count,
        one["first"] == position(one["iopos"]) - begin, one["last"] == position(end - 1) - begin,
        z3.If(room < d.chunklen, one["limit"] == room, one["limit"] == d.chunklen), one["last"] < one["limit"],
    ])


def all_projections():
    """The projections follow one another without a gap from the first element to the last, in ascending chunks."""
    m = Integers()
    ps, _, assumptions = projections(m)
    p = m.unknown("p")
    in_range, one = one_of(m, ps, p)
    next_one, first, last = (one_of(m, ps, other)[1] for other in [p + 1, m.word(0), ps.len - 1])
    m.obligations.clear()  # those of each_projection
    return Theorem(m, assumptions + in_range, [
        first["iopos"] == 0, last["iopos"] + last["iocount"] == ps.slice.count,
        z3.Implies(p < ps.len - 1, z3.And(one["iopos"] + one["iocount"] == next_one["iopos"],
                                          one["chunk_index"] < next_one["chunk_index"])),
    ])


def next_projection():
    """The projection after one is the next one."""
    m = Integers()
    ps, _, assumptions = projections(m)
    p = m.unknown("p")
    in_range, one = one_of(m, ps, p)
    _, next_one = one_of(m, ps, p + 1)
    m.obligations.clear()
    m.path.append(p < ps.len - 1)
    found = ps.after(one)
    m.product(found["iocount"], ps.slice.stride)
    m.product(ps.dimension.chunk_at(found["chunk_index"]), ps.dimension.chunklen)
    return Theorem(m, assumptions + in_range + [p < ps.len - 1], [found[key] == next_one[key] for key in found])


def covered():
    """A chunk is covered if and only if as many of its elements are selected as lie in the dimension; in counting the
    covered chunks, those between the first touched one and the last are alike."""
    m = Integers()
    ps, _, assumptions = projections(m)
    p = m.unknown("p")
    in_range, one = one_of(m, ps, p)
    m.obligations.clear()
    m.path.append(z3.And(*in_range))
    covers = ps.covers(one)
    d = ps.dimension
    begin = m.product(d.chunk_at(one["chunk_index"]), d.chunklen)
    low = m.choose(begin < d.lead, lambda: d.lead, lambda: begin)
    end = d.lead + d.len
    high = m.choose(begin + d.chunklen < end, lambda: begin + d.chunklen, lambda: end)
    return Theorem(m, assumptions + in_range, [
        covers == (one["iocount"] == high - low),
        z3.Implies(z3.And(p >= 1, p < ps.len - 1), covers == z3.Or(ps.slice.stride == 1, d.chunklen == 1)),
    ])


def count_covered():
    """The number of covered chunks is computed without wrapping, and is at most that of the touched ones."""
    m = Integers()
    ps, _, assumptions = projections(m)
    for p in [m.word(0), ps.len - 1]:
        one_of(m, ps, p)
    m.obligations.clear()  # those of each_projection
    return Theorem(m, assumptions, [ps.num_covered() <= ps.len])


def intersections_dense():
    """Two slices that touch every chunk between their ends share one if and only if their ranges of chunks overlap."""
    m = Integers()
    (a, a_len), (b, b_len) = ((m.unknown(f"first_{x}"), m.unknown(f"len_{x}")) for x in "ab")
    c = m.unknown("c")
    # A range ends where its last chunk does, which `each_projection` keeps within a word.
    a_end, b_end = a + a_len, b + b_len
    shares = z3.And(a <= b_end if PLANTED == "overlap" else a < b_end, b < a_end)
    witness = m.choose(a < b, lambda: b, lambda: a)

    def touched(chunk):
        return z3.And(a <= chunk, chunk < a_end, b <= chunk, chunk < b_end)

    return Theorem(m, [a >= 0, b >= 0, a_len >= 1, b_len >= 1], [
        z3.Implies(touched(c), shares), z3.Implies(shares, touched(witness))])


def intersections_sparse():
    """A slice with gaps touches one of a range of chunks if and only if one of its elements lies in them."""
    m = Integers()
    start, count, stride = map(m.unknown, ["start", "count", "stride"])
    chunklen, first_chunk, num_chunks, k = map(m.unknown, ["chunklen", "first_chunk", "num_chunks", "k"])
    ps = model.Projections.__new__(model.Projections)
    ps.m, ps.start, ps.planted = m, start, PLANTED
    ps.dimension, ps.slice = model.Dimension(m, m.word(0), chunklen), model.Slice.__new__(model.Slice)
    ps.slice.start, ps.slice.count, ps.slice.stride = start, count, stride
    touches = ps.touches_any(first_chunk, num_chunks)
    begin, end = m.product(first_chunk, chunklen), m.product(first_chunk + num_chunks, chunklen)
    distance = m.choose(begin < start, lambda: m.word(0), lambda: begin - start)
    quotient, rest = m.divided(distance, stride)
    witness = m.choose(rest == 0, lambda: quotient, lambda: quotient + 1)

    def inside(k):
        at = start + m.product(k, stride)
        return z3.And(k >= 0, k < count, begin <= at, at < end)

    # The code computes in words of twice the size, in which the product of two words fits.
    m.product(count, stride)
    valid = [start >= 0, count >= 1, stride >= 1, chunklen >= 1, first_chunk >= 0, num_chunks >= 1]
    valid += [end <= m.limit, start + m.product(count, stride) <= m.limit]
    return Theorem(m, valid, [z3.Implies(inside(k), touches), z3.Implies(touches, inside(witness))])


def parts():
    """The parts of a plan begin at 0, end at its end, follow one another, and differ by one chunk at most."""
    m = Integers()
    num_chunks, num_parts, part = map(m.unknown, ["num_chunks", "num_parts", "part"])

    def begin(part):
        quotient, _ = m.divided(m.product(part, num_chunks), divisor)
        return quotient

    divisor = num_parts
    if PLANTED == "part":
        divisor = m.unknown("divisor")
        m.facts.append(divisor == num_parts + 1)
    share, _ = m.divided(num_chunks, num_parts)
    low, high, first, last = begin(part), begin(part + 1), begin(m.word(0)), begin(num_parts)
    # The lemma is needed of these as well.
    for number in [num_chunks, high - low, share + 1, share]:
        m.product(number, num_parts)
    return Theorem(m, [num_parts >= 1, num_chunks >= 0, part >= 0, part < num_parts], [
        first == 0, last == num_chunks, high <= num_chunks, low <= high,
        high - low <= share + 1, high - low >= share,
    ])


def strided(m):
    """Two dimensions of memory: how many elements, and the strides in bytes."""
    counts = [m.unknown(f"count{d}") for d in range(2)]
    strides = [(m.unknown(f"magnitude{d}"), z3.Bool(f"negative{d}")) for d in range(2)]
    valid = [m.half >= 2]
    for count, (magnitude, _) in zip(counts, strides, strict=True):
        valid += [count >= 1, count <= m.limit, magnitude >= 0, magnitude <= m.half]
    return counts, strides, valid


def signed(m, steps, stride):
    """So many steps of a stride."""
    product = m.product(steps, stride[0])
    return m.choose(stride[1], lambda: -product, lambda: product)


def layouts():
    """Memory is accepted if and only if every element lies in it; two dimensions of any strides."""
    m = Integers()
    size, first, length = map(m.unknown, ["size", "first", "length"])
    counts, strides, valid = strided(m)
    k = [m.unknown(f"k{d}") for d in range(2)]
    low, high = model.reach(m, size, counts, strides, PLANTED)
    accepted = model.is_inside(m, first, length, low, high)

    def is_inside(k):
        at = first + signed(m, k[0], strides[0]) + signed(m, k[1], strides[1])
        return z3.And(at >= 0, at + size <= length)

    def corner(is_low):
        return [m.choose(negative == is_low, lambda: count - 1, lambda: m.word(0))
                for count, (_, negative) in zip(counts, strides, strict=True)]

    corners = [corner(z3.BoolVal(is_low)) for is_low in [True, False]]
    valid += [size >= 1, size <= m.limit, first >= 0, length >= 0]
    valid += [z3.And(k[d] >= 0, k[d] < counts[d]) for d in range(2)]
    return Theorem(m, valid, [
        z3.Implies(accepted, is_inside(k)),
        z3.Implies(z3.And(length <= m.signed_max, *map(is_inside, corners)), accepted),
    ])


def disjoint():
    """Where the elements are said to be disjoint, no two of them share a byte; two dimensions of any strides."""
    m = Integers()
    size = m.unknown("size")
    counts, strides, valid = strided(m)
    accepted = model.is_disjoint(m, size, counts, strides, PLANTED)
    k, l = ([m.unknown(f"{name}{d}") for d in range(2)] for name in "kl")
    distance = signed(m, k[0] - l[0], strides[0]) + signed(m, k[1] - l[1], strides[1])
    valid += [size >= 1, size <= m.limit, z3.Or(k[0] != l[0], k[1] != l[1])]
    for d in range(2):
        m.product(l[d] - k[d], strides[d][0])
        valid += [counts[d] >= 2, k[d] >= 0, k[d] < counts[d], l[d] >= 0, l[d] < counts[d]]
    return Theorem(m, valid, [z3.Implies(accepted, z3.Or(distance >= size, -distance >= size))])


def monotone():
    """The lemma that the others use, by itself: real products."""
    x, y, f = z3.Ints("x y f")

    class Plain:
        assumptions = [f >= 0]
        claims = [
            z3.Implies(x >= y, x * f >= y * f), z3.Implies(x >= y + 1, x * f >= y * f + f),
            *(z3.Implies(z3.And(f >= least, x >= 0), x * f >= least * x) for least in [1, 2]),
            *(z3.Implies(z3.And(f >= least, x <= 0), x * f <= least * x) for least in [1, 2]),
            z3.Implies(f == 1, x * f == x),
        ]

    return Plain


def reciprocals_64():
    """Dimension::locate at 64 bits: floor(p * ceil(2^64 / C) / 2^64) = floor(p / C) for p and C below 2^32.

    With p = q*C + t and r*C = 2^64 + e, e < C: r*p = q*(2^64 + e) + t*r, and C times what is above q*2^64 is
    p*e + t*2^64, which is less than C*2^64, because p*e < 2^64 and t <= C - 1.
    """
    p, c, q, t, e, pe = z3.Ints("p c q t e pe")
    word, half = 1 << 64, 1 << 32
    # C * (r*p - q*2^64) = p*(2^64 + e) - q*C*2^64 = p*e + (p - q*C)*2^64.
    rest = pe + t * word

    class Plain:
        assumptions = [p >= 0, p < half, c > 1, c < half, t >= 0, t < c, e >= 0, e < c, pe >= 0,
                       pe <= (half - 1) * e]
        claims = [rest >= 0, rest < c * word]

    return Plain


THEOREMS = [
    (monotone, []),
    (each_projection, ["rounding", "limit"]),
    (all_projections, ["rounding"]),
    (next_projection, []),
    (covered, ["covers"]),
    (count_covered, []),
    (intersections_dense, ["overlap"]),
    (intersections_sparse, ["touches"]),
    (parts, ["part"]),
    (layouts, ["reach"]),
    (disjoint, ["disjoint"]),
    (reciprocals_64, []),
]
