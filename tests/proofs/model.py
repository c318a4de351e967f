"""The library's arithmetic, line by line as src/ has it, on the words of words.Machine.

Each function names the one in Rust that it follows. `m.add` and the like are Rust's plain operators, whose results must
fit; `m.wrapping_*`, `m.checked_*` and `m.saturating_*` are Rust's methods of these names. A fault can be planted:
`planted` is the name of one, and the proofs have to notice it.
"""

NOERR, EINVALCOORDS, EEDGE, ESTRIDE = 0, -40, -57, -58


class Dimension:
    """engine/src/grid.rs."""

    def __init__(self, m, length, chunklen, first_chunk=None, lead=None, planted=None):
        self.m, self.len, self.chunklen, self.planted = m, length, chunklen, planted
        self.first_chunk = m.word(0) if first_chunk is None else first_chunk
        self.lead = m.word(0) if lead is None else lead

    def with_origin(self, origin):
        """Whether the origin is accepted, and the dimension that has it. The chunk length is an isize."""
        m = self.m
        first_chunk = m.div_floor_signed(origin, self.chunklen)
        begin, begin_fits = m.checked_mul_signed(first_chunk, self.chunklen)
        last = m.saturating_sub(self.len, m.word(1))
        # checked_add_unsigned: the sum of a signed and an unsigned number fits a signed one.
        _, last_fits = checked_add_unsigned(m, origin, last)
        lead = m.wrapping_sub(origin, begin)
        if self.planted == "lead":
            lead = m.wrapping_add(lead, m.word(1))
        return m.all(begin_fits, last_fits), Dimension(m, self.len, self.chunklen, first_chunk, lead, self.planted)

    def origin(self):
        return self.m.wrapping_add(self.m.wrapping_mul(self.first_chunk, self.chunklen), self.lead)

    def num_chunks(self):
        m = self.m

        def some():
            last = m.add(self.lead, m.sub(self.len, m.word(1)))
            return m.add(m.div(last, self.chunklen), m.word(1))

        return m.choose(m.eq(self.len, m.word(0)), lambda: m.word(0), some)

    def position(self, e):
        return self.m.add(self.lead, e)

    def locate(self, position):
        """By division: that the reciprocal gives the same is a theorem of its own."""
        m = self.m
        chunk = m.div(position, self.chunklen)
        return chunk, m.sub(position, m.mul(chunk, self.chunklen))

    def chunk_index(self, chunk):
        return self.m.wrapping_add(self.first_chunk, chunk)

    def chunk_at(self, chunk_index):
        return self.m.wrapping_sub(chunk_index, self.first_chunk)

    def limit(self, chunk):
        m = self.m
        rest = m.sub(m.add(self.lead, self.len), m.mul(chunk, self.chunklen))
        if self.planted == "limit":
            return m.min(self.chunklen, m.add(rest, m.word(1)))
        return m.min(self.chunklen, rest)

    def num_inside(self, chunk):
        m = self.m
        before = m.choose(m.eq(chunk, m.word(0)), lambda: self.lead, lambda: m.word(0))
        return m.sub(self.limit(chunk), before)


def checked_add_unsigned(m, a, b):
    """isize::checked_add_unsigned."""
    result = m.wrapping_add(a, b)
    if not m.symbolic:
        return result, m.fits_signed(m.signed(a) + b)
    # It fits unless the sum passes the largest signed number.
    import z3
    return result, z3.SignExt(2, a) + z3.ZeroExt(2, b) == z3.SignExt(2, result)


def reciprocal(m, chunklen):
    """Dimension::new: 2^width / chunklen, rounded up."""
    return m.add(m.div(m.max, chunklen), m.word(1))


def check(m, dimlen, start, count, stride, check_edge, planted=None):
    """Slice::check: a status. `stride` is signed and not 0."""
    zero, one = m.word(0), m.word(1)
    beyond = m.any(m.lt(dimlen, start), m.all(m.eq(start, dimlen), m.lt(zero, count)))

    def edge():
        steps = count if planted == "edge" else m.sub(count, one)
        reach, reach_fits = m.checked_mul(steps, m.absolute(stride))
        _, below_fits = m.checked_sub(start, reach)
        last, last_fits = m.checked_add(start, reach)
        inside = m.choose(m.negative(stride), lambda: below_fits, lambda: m.all(last_fits, m.lt(last, dimlen)))
        return m.all(reach_fits, inside)

    is_checked = m.all(check_edge, m.lt(one, count))
    fits = m.choose(is_checked, edge, lambda: m.eq(zero, zero))
    return beyond, m.all(is_checked, m.no(fits))


class Slice:
    """engine/src/hyperslab.rs: Slice::fitting, for a slice that fits."""

    def __init__(self, m, start, count, stride):
        self.m, self.count, self.stride = m, count, m.absolute(stride)

        def first():
            return m.sub(start, m.mul(m.saturating_sub(count, m.word(1)), self.stride))

        self.start = m.choose(m.negative(stride), first, lambda: start)

    def last(self):
        """If there is one: count is above 0."""
        m = self.m
        return m.add(self.start, m.mul(m.sub(self.count, m.word(1)), self.stride))


def within(m, piece, begin, end, planted=None):
    """Slice::within: the first of the elements in begin..end, counted from there; how many they are; and how many are
    before them."""
    def before(position):
        up = m.div if planted == "within" else m.div_ceil
        return m.min(up(m.saturating_sub(position, piece.start), piece.stride), piece.count)

    first, last = before(begin), before(end)
    start = m.choose(m.lt(first, last),
                     lambda: m.sub(m.add(piece.start, m.mul(first, piece.stride)), begin), lambda: m.word(0))
    return start, m.sub(last, first), first


class Projections:
    """engine/src/projection.rs, of a slice that was checked against the dimension."""

    def __init__(self, m, dimension, piece, planted=None):
        self.m, self.dimension, self.slice, self.planted = m, dimension, piece, planted
        self.start = dimension.position(piece.start)
        self.first_chunk = dimension.locate(self.start)[0]
        self.is_dense = m.le(piece.stride, dimension.chunklen)
        if planted == "dense":
            self.is_dense = m.le(piece.stride, m.add(dimension.chunklen, m.word(1)))

        def some():
            def dense():
                last = dimension.locate(dimension.position(piece.last()))[0]
                return m.add(m.sub(last, self.first_chunk), m.word(1))

            return m.choose(self.is_dense, dense, lambda: piece.count)

        self.len = m.choose(m.eq(piece.count, m.word(0)), lambda: m.word(0), some)

    def get(self, p):
        """The p-th, for p below len."""
        m, stride, chunklen = self.m, self.slice.stride, self.dimension.chunklen

        def dense():
            chunk = m.add(self.first_chunk, p)
            base = m.mul(chunk, chunklen)
            up = m.div if self.planted == "rounding" else m.div_ceil
            k0 = m.choose(m.le(base, self.start), lambda: m.word(0), lambda: up(m.sub(base, self.start), stride))
            return self.projection(chunk, m.sub(m.add(self.start, m.mul(k0, stride)), base), k0)

        def sparse():
            chunk, first = self.dimension.locate(m.add(self.start, m.mul(p, stride)))
            return self.projection(chunk, first, p)

        return m.choose(self.is_dense, dense, sparse)

    def after(self, previous):
        """The one after another that is not the last."""
        m = self.m
        k0 = m.add(previous["iopos"], previous["iocount"])
        chunk = m.add(self.dimension.chunk_at(previous["chunk_index"]), m.word(1))
        first = m.sub(m.add(previous["last"], self.slice.stride), self.dimension.chunklen)

        def sparse():
            skipped, place = self.dimension.locate(first)
            return self.projection(m.add(chunk, skipped), place, k0)

        return m.choose(self.is_dense, lambda: self.projection(chunk, first, k0), sparse)

    def projection(self, chunk, first, k0):
        m, stride, chunklen = self.m, self.slice.stride, self.dimension.chunklen

        def dense():
            room = m.sub(m.sub(chunklen, m.word(1)), first)
            return m.add(m.div(room, stride), m.word(1))

        room = m.choose(self.is_dense, dense, lambda: m.word(1))
        iocount = m.min(room, m.sub(self.slice.count, k0))
        chunk_index = self.dimension.chunk_index(chunk)
        return {
            "chunk_index": chunk_index,
            "offset": m.wrapping_mul(chunk_index, chunklen),
            "first": first,
            "last": m.add(first, m.mul(m.sub(iocount, m.word(1)), stride)),
            "limit": self.dimension.limit(chunk),
            "iopos": k0,
            "iocount": iocount,
        }

    def covers(self, projection):
        inside = self.dimension.num_inside(self.dimension.chunk_at(projection["chunk_index"]))
        if self.planted == "covers":
            return self.m.le(projection["iocount"], inside)
        return self.m.eq(projection["iocount"], inside)

    def num_covered(self):
        """Of projections of which there is one at least."""
        m, one = self.m, self.m.word(1)
        all_between = m.any(m.eq(self.slice.stride, one), m.eq(self.dimension.chunklen, one))
        between = m.choose(all_between, lambda: m.saturating_sub(self.len, m.word(2)), lambda: m.word(0))

        def count(p):
            return m.choose(self.covers(self.get(p)), lambda: one, lambda: m.word(0))

        last = m.choose(m.lt(one, self.len), lambda: count(m.sub(self.len, one)), lambda: m.word(0))
        return m.add(m.add(between, count(m.word(0))), last)

    def touches_any(self, first_chunk, num_chunks):
        """For sparse slices. The code computes in u128, which is twice a word: so it is given wide words."""
        m = self.m
        begin = m.mul(first_chunk, self.dimension.chunklen)
        end = m.add(begin, m.mul(num_chunks, self.dimension.chunklen))
        k = m.div_ceil(m.saturating_sub(begin, self.start), self.slice.stride)
        reached = m.le if self.planted == "touches" else m.lt
        return m.all(reached(k, self.slice.count),
                     m.choose(m.lt(k, self.slice.count),
                              lambda: m.lt(m.add(self.start, m.mul(k, self.slice.stride)), end),
                              lambda: m.eq(m.word(0), m.word(0))))


def begin_of_part(m, part, num_chunks, num_parts, planted=None):
    """Plan::part: the first chunk of a part. The machine's words are twice a word: u128."""
    parts = m.add(num_parts, m.word(1)) if planted == "part" else num_parts
    return m.div(m.mul(part, num_chunks), parts)


def reach(m, element_size, counts, strides, planted=None):
    """engine/src/layout.rs: the bytes below the beginning of the first element, and above it."""
    low, high = m.word(0), element_size
    for count, stride in zip(counts, strides, strict=True):
        steps = m.saturating_sub(m.sub(count, m.word(1)), m.word(1)) if planted == "reach" else m.sub(count, m.word(1))
        length = m.saturating_mul(m.absolute(stride), steps)
        low = m.choose(m.negative(stride), lambda: m.saturating_add(low, length), lambda: low)
        high = m.choose(m.negative(stride), lambda: high, lambda: m.saturating_add(high, length))
    return low, high


def is_inside(m, first, length, low, high):
    """Layout::strided: whether all elements lie in the memory."""
    end, fits = m.checked_add(first, high)
    return m.all(m.le(low, first), fits, m.le(end, length), m.le(length, m.signed_max))


def is_disjoint(m, element_size, counts, strides, planted=None):
    """Layout::is_disjoint, for two dimensions of more than one element: ascending by stride, then by dimension."""
    first, second = (m.absolute(stride) for stride in strides)

    def in_order(small, count, large):
        end = m.saturating_add(element_size, m.saturating_mul(small, m.sub(count, m.word(1))))
        if planted == "disjoint":
            end = m.saturating_mul(small, m.sub(count, m.word(1)))
        return m.all(m.le(element_size, small), m.le(end, large))

    return m.choose(m.le(first, second), lambda: in_order(first, counts[0], second),
                    lambda: in_order(second, counts[1], first))


def classic_offset(m, begin, recsize, typesize, dimlens, indices, is_record, planted=None):
    """engine/src/classic.rs: whether the offset is one of a file, and the offset. Indices are checked before."""
    step, offset, fits = typesize, begin, []
    for d in reversed(range(len(dimlens))):
        if d == 0:
            step = m.choose(is_record, lambda: recsize, lambda: step)
        length, length_fits = m.checked_mul(indices[d], step)
        offset, offset_fits = m.checked_add(length, offset)
        fits += [offset_fits, m.le(offset, m.signed_max)]
        if planted != "offset":
            fits.append(length_fits)
        step = m.saturating_mul(step, dimlens[d])
    return m.all(*fits, m.le(offset, m.signed_max)), offset
