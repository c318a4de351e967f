"""Machine words: numbers of so many bits that wrap, either given or unknown to z3.

The model of the arithmetic (model.py) is written once and runs on both. On numbers that are given it computes, which is
how it is compared with the library. On unknown ones it makes terms of bit-vectors, and notes for each operation whose
result must fit that it does: Machine.obligations, each a condition that has to hold where the operation is reached.
"""

import z3


class Overflow(Exception):
    """An operation on given numbers whose result does not fit."""


class Machine:
    """A machine with words of `width` bits. `values` are terms or numbers of Python, not negative."""

    def __init__(self, width, symbolic):
        self.width, self.symbolic = width, symbolic
        self.obligations, self.path = [], []

    def unknown(self, name):
        return z3.BitVec(name, self.width)

    def word(self, number):
        return z3.BitVecVal(number, self.width) if self.symbolic else number % (1 << self.width)

    @property
    def max(self):
        return self.word((1 << self.width) - 1)

    @property
    def signed_max(self):
        return self.word((1 << (self.width - 1)) - 1)

    # --- Conditions.

    def lt(self, a, b):
        return z3.ULT(a, b) if self.symbolic else a < b

    def le(self, a, b):
        return z3.ULE(a, b) if self.symbolic else a <= b

    def eq(self, a, b):
        return a == b

    def negative(self, a):
        """Whether a word is below 0, as a signed number."""
        return a < 0 if self.symbolic else a >> (self.width - 1) == 1

    def all(self, *conditions):
        return z3.And(*conditions) if self.symbolic else all(conditions)

    def any(self, *conditions):
        return z3.Or(*conditions) if self.symbolic else any(conditions)

    def no(self, condition):
        return z3.Not(condition) if self.symbolic else not condition

    def choose(self, condition, then, otherwise):
        """One of two values, each computed by a function, which is reached only if the condition says so."""
        if not self.symbolic:
            return then() if condition else otherwise()
        self.path.append(condition)
        first = then()
        self.path[-1] = z3.Not(condition)
        second = otherwise()
        self.path.pop()
        return self.join(condition, first, second)

    def join(self, condition, first, second):
        if isinstance(first, tuple):
            return tuple(self.join(condition, a, b) for a, b in zip(first, second, strict=True))
        if isinstance(first, dict):
            return {key: self.join(condition, first[key], second[key]) for key in first}
        if isinstance(first, bool) and isinstance(second, bool) and first == second:
            return first
        return z3.If(condition, first, second)

    def must(self, condition):
        """The code relies on this."""
        if not self.symbolic:
            if not condition:
                raise Overflow
            return
        self.obligations.append(z3.Implies(z3.And(*self.path), condition) if self.path else condition)

    # --- Operations whose results must fit: Rust's +, -, * and / on usize.

    def add(self, a, b):
        result, fits = self.checked_add(a, b)
        self.must(fits)
        return result

    def sub(self, a, b):
        self.must(self.le(b, a))
        return self.wrapping_sub(a, b)

    def mul(self, a, b):
        result, fits = self.checked_mul(a, b)
        self.must(fits)
        return result

    def div(self, a, b):
        self.must(b != 0)
        if self.symbolic:
            return z3.UDiv(a, b)
        return a // b if b else 0

    def rem(self, a, b):
        self.must(b != 0)
        if self.symbolic:
            return z3.URem(a, b)
        return a % b if b else 0

    def div_ceil(self, a, b):
        quotient = self.div(a, b)
        return self.choose(self.rem(a, b) != 0, lambda: self.add(quotient, self.word(1)), lambda: quotient)

    def min(self, a, b):
        return self.choose(self.lt(a, b), lambda: a, lambda: b)

    def max_of(self, a, b):
        return self.choose(self.lt(a, b), lambda: b, lambda: a)

    # --- Operations that say whether their results fit.

    def checked_add(self, a, b):
        if self.symbolic:
            return a + b, z3.BVAddNoOverflow(a, b, False)
        return (a + b) % (1 << self.width), a + b < 1 << self.width

    def checked_mul(self, a, b):
        if self.symbolic:
            return a * b, z3.BVMulNoOverflow(a, b, False)
        return a * b % (1 << self.width), a * b < 1 << self.width

    def checked_sub(self, a, b):
        return self.wrapping_sub(a, b), self.le(b, a)

    def checked_add_signed(self, a, b):
        """Signed numbers a + b."""
        if self.symbolic:
            return a + b, z3.And(z3.BVAddNoOverflow(a, b, True), z3.BVAddNoUnderflow(a, b))
        return self.wrapping_add(a, b), self.fits_signed(self.signed(a) + self.signed(b))

    def checked_mul_signed(self, a, b):
        if self.symbolic:
            return a * b, z3.And(z3.BVMulNoOverflow(a, b, True), z3.BVMulNoUnderflow(a, b))
        return self.wrapping_mul(a, b), self.fits_signed(self.signed(a) * self.signed(b))

    def saturating_add(self, a, b):
        result, fits = self.checked_add(a, b)
        return self.choose(fits, lambda: result, lambda: self.max)

    def saturating_mul(self, a, b):
        result, fits = self.checked_mul(a, b)
        return self.choose(fits, lambda: result, lambda: self.max)

    def saturating_sub(self, a, b):
        return self.choose(self.le(b, a), lambda: self.wrapping_sub(a, b), lambda: self.word(0))

    # --- Operations that wrap and are meant to.

    def wrapping_add(self, a, b):
        return a + b if self.symbolic else (a + b) % (1 << self.width)

    def wrapping_sub(self, a, b):
        return a - b if self.symbolic else (a - b) % (1 << self.width)

    def wrapping_mul(self, a, b):
        return a * b if self.symbolic else a * b % (1 << self.width)

    def absolute(self, a):
        """unsigned_abs."""
        return self.choose(self.negative(a), lambda: self.wrapping_sub(self.word(0), a), lambda: a)

    def div_floor_signed(self, a, b):
        """div_euclid by a positive number."""
        if not self.symbolic:
            return self.signed(a) // b % (1 << self.width)
        quotient = a / b
        return z3.If(z3.And(a < 0, quotient * b != a), quotient - 1, quotient)

    # --- Numbers.

    def signed(self, a):
        return a - (1 << self.width) if a >> (self.width - 1) else a

    def fits_signed(self, number):
        return -(1 << (self.width - 1)) <= number < 1 << (self.width - 1)

    def wide(self, a, extra=None):
        """The word as an unsigned number with room to spare: for definitions, in which nothing wraps."""
        return z3.ZeroExt(extra or self.width + 4, a) if self.symbolic else a

    def wide_signed(self, a, extra=None):
        return z3.SignExt(extra or self.width + 4, a) if self.symbolic else self.signed(a)
