"""Machine words of any width: integers without a bound, on which the model runs as it does on bit-vectors.

Products are what makes such proofs hard. Here each product is a number of its own of which only what holds for all
products is known, where the proof has them: for a factor f above 0, x >= y + d implies x*f >= y*f + d*f, for d = 0 and
1; x >= 0 implies x*f >= x, and 2*x if f is 2 or more; and x*f = x if f is 1. The lemma is proved by itself
(`monotone`); its instances leave linear arithmetic, which z3 decides. Words are from 0 to `limit`, whatever that is.
"""

import itertools

import z3


class Linear:
    """A sum of unknowns with coefficients, and a number."""

    def __init__(self, terms, constant=0):
        self.terms = {name: factor for name, factor in terms.items() if factor}
        self.constant = constant

    def __add__(self, other):
        other = other if isinstance(other, Linear) else Linear({}, other)
        terms = dict(self.terms)
        for name, factor in other.terms.items():
            terms[name] = terms.get(name, 0) + factor
        return Linear(terms, self.constant + other.constant)

    def __neg__(self):
        return Linear({name: -factor for name, factor in self.terms.items()}, -self.constant)

    def __sub__(self, other):
        return self + (-other if isinstance(other, Linear) else -other)

    def term(self):
        return z3.Sum([z3.IntVal(self.constant), *(factor * z3.Int(name) for name, factor in self.terms.items())])

    def __ge__(self, other):
        return (self - other).term() >= 0

    def __le__(self, other):
        return (self - other).term() <= 0

    def __gt__(self, other):
        return (self - other).term() > 0

    def __lt__(self, other):
        return (self - other).term() < 0

    def __eq__(self, other):
        return (self - other).term() == 0

    def __ne__(self, other):
        return (self - other).term() != 0


class Integers:
    """What words.Machine is, for words of any width."""

    symbolic = True

    def __init__(self):
        self.obligations, self.path, self.facts = [], [], []
        self.products = {}  # of each factor: what it is multiplied with
        self.numbers = itertools.count()
        self.limit, self.half = self.unknown("limit"), self.unknown("half")
        self.facts += [self.half >= 1, self.limit == self.half + self.half - 1]

    def unknown(self, name):
        return Linear({name: 1})

    def word(self, number):
        return Linear({}, number)

    def lt(self, a, b):
        return a < b

    def le(self, a, b):
        return a <= b

    def eq(self, a, b):
        return a == b

    def all(self, *conditions):
        return z3.And(*conditions)

    def any(self, *conditions):
        return z3.Or(*conditions)

    def no(self, condition):
        return z3.Not(condition)

    def choose(self, condition, then, otherwise):
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
        if not isinstance(first, Linear):
            return z3.If(condition, first, second)
        result = self.unknown(f"choice{next(self.numbers)}")
        self.facts.append(z3.If(condition, result == first, result == second))
        return result

    def must(self, condition):
        self.obligations.append(z3.Implies(z3.And(*self.path), condition) if self.path else condition)

    def fits(self, result):
        self.must(z3.And(result >= 0, result <= self.limit))
        return result

    def add(self, a, b):
        return self.fits(a + b)

    def sub(self, a, b):
        return self.fits(a - b)

    def mul(self, a, b):
        return self.fits(self.product(a, b))

    def product(self, a, b):
        """The exact product. One of the two is an unknown, or a number."""
        for x, factor in [(b, a), (a, b)]:
            if not factor.terms and not x.terms:
                return Linear({}, x.constant * factor.constant)
        if len(b.terms) != 1 or b.constant or list(b.terms.values()) != [1]:
            a, b = b, a
        (name,) = b.terms
        assert b.constant == 0 and b.terms[name] == 1, "one of two factors is an unknown"
        self.products.setdefault(name, [self.word(0)]).append(a)
        return self.expanded(a, name)

    def expanded(self, x, factor):
        terms = {"*".join(sorted([name, factor])): number for name, number in x.terms.items()}
        return Linear(terms) + Linear({factor: x.constant})

    def divided(self, a, b):
        """The quotient, rounded down, and what is left."""
        quotient = self.unknown(f"quotient{next(self.numbers)}")
        rest = a - self.product(quotient, b)
        self.facts.append(z3.Implies(b >= 1, z3.And(rest >= 0, rest < b)))
        return quotient, rest

    def div(self, a, b):
        self.must(b >= 1)
        return self.divided(a, b)[0]

    def div_ceil(self, a, b):
        self.must(b >= 1)
        quotient, rest = self.divided(a, b)
        return self.choose(rest != 0, lambda: self.add(quotient, self.word(1)), lambda: quotient)

    def min(self, a, b):
        return self.choose(a < b, lambda: a, lambda: b)

    def saturating_sub(self, a, b):
        return self.choose(b <= a, lambda: a - b, lambda: self.word(0))

    def saturating_add(self, a, b):
        return self.min(a + b, self.limit)

    def saturating_mul(self, a, b):
        return self.min(self.product(a, b), self.limit)

    def checked_add(self, a, b):
        return a + b, a + b <= self.limit

    @property
    def signed_max(self):
        return self.half - 1

    # A signed number is its magnitude and whether it is negative.

    def absolute(self, number):
        return number[0]

    def negative(self, number):
        return number[1]

    # What wraps in the code is a signed number in a word; that it does not leave those is shown by `origins`.

    def wrapping_add(self, a, b):
        return a + b

    def wrapping_sub(self, a, b):
        return a - b

    def wrapping_mul(self, a, b):
        return self.product(a, b)

    def lemmas(self):
        """What is known of the products."""
        for name, multiplied in self.products.items():
            factor = self.unknown(name)
            for x in multiplied:
                product = self.expanded(x, name)
                for least in [1, 2]:
                    times = x if least == 1 else x + x
                    yield z3.Implies(factor >= least, z3.And(
                        z3.Implies(x >= 0, product >= times), z3.Implies(x <= 0, product <= times)))
                yield z3.Implies(factor == 1, product == x)
            for x, y in itertools.combinations(multiplied, 2):
                apart, product = x - y, self.expanded(x, name) - self.expanded(y, name)
                yield z3.Implies(factor >= 0, z3.And(
                    z3.Implies(apart >= 0, product >= 0), z3.Implies(apart >= 1, product >= factor),
                    z3.Implies(apart <= 0, product <= 0), z3.Implies(apart <= -1, product <= -factor)))


class Theorem:
    def __init__(self, m, assumptions, claims):
        self.claims = [*m.obligations, *claims]
        self.assumptions = [*assumptions, *m.facts, *m.lemmas()]
