#!/usr/bin/env python3
"""Proves the library's arithmetic: run.py LIBRARY [--short]

First the model (model.py) and the library are asked the same through the C interface. Then z3 proves what the model's
results are: for words of any width where that is decided (unbounded.py), and for all values of words of some bits
(theorems.py). Last each fault that can be planted in the model has to be noticed, by a proof and by the comparison.
"""

import sys
import time

import z3

import library
import theorems
import unbounded

SECONDS = 1800


def unproved(theorem):
    """The claims that are not proved, one after another: each with what z3 says of it."""
    solver = z3.Solver()
    solver.set("timeout", SECONDS * 1000)
    solver.add(*theorem.assumptions)
    if solver.check() != z3.sat:
        yield "the assumptions", "are not seen to be possible"
    for claim in theorem.claims:
        if (answer := refuted(solver, claim)) != z3.unsat:
            yield claim, answer


def refuted(solver, claim):
    solver.push()
    solver.add(z3.Not(claim))
    answer = solver.check()
    solver.pop()
    return answer


def unproved_at_once(theorem):
    """The same for bit-vectors, where all claims together are quicker."""
    for goal in [z3.BoolVal(True), z3.Not(z3.And(*theorem.claims))]:
        solver = z3.Then("simplify", "propagate-values", "solve-eqs", "elim-uncnstr", "simplify", "bit-blast",
                         "sat").solver()
        solver.set("timeout", SECONDS * 1000)
        solver.add(*theorem.assumptions, goal)
        answer = solver.check()
        if z3.is_true(goal) and answer != z3.sat:
            yield "the assumptions", "are not seen to be possible"
    if answer != z3.unsat:
        yield "one of the claims", answer


def prove(about, find):
    begin = time.monotonic()
    left = list(find())
    if left:
        sys.exit(f"NOT PROVED: {about}\n" + "\n".join(f"{answer}: {claim}" for claim, answer in left[:3]))
    print(f"proved in {time.monotonic() - begin:6.1f} s  {about}", flush=True)


def words(function):
    return " ".join(function.__doc__.split("\n\n")[0].split())


def main(path, is_short):
    begin = time.monotonic()
    numbers = library.compare(path)
    print(f"the model is the library's: {', '.join(f'{n} {name}' for name, n in numbers.items())}, "
          f"{time.monotonic() - begin:.1f} s", flush=True)
    for theorem, _ in unbounded.THEOREMS:
        prove(f"any width: {words(theorem)}", lambda t=theorem: unproved(t()))
    for theorem, full, short, _ in theorems.BOUNDED:
        for width in short if is_short else full:
            prove(f"{width} bits: {words(theorem)}", lambda t=theorem, w=width: unproved_at_once(t(w)))

    faults = {}
    for theorem, planted in unbounded.THEOREMS:
        for fault in planted:
            faults.setdefault(fault, []).append((unbounded, lambda t=theorem: unproved(t())))
    for theorem, _, short, planted in theorems.BOUNDED:
        for fault in planted:
            faults.setdefault(fault, []).append((theorems, lambda t=theorem, w=short[0]: unproved_at_once(t(w))))
    for fault, checks in faults.items():
        for module, check in checks:
            module.PLANTED = fault
            if not any(answer == z3.sat for _, answer in check()):
                sys.exit(f"NOT NOTICED by a proof: the planted fault {fault}")
            module.PLANTED = None
        # The reciprocal and overlaps are not computed by the model's numbers; whether memory is disjoint no call tells.
        is_compared = fault not in ["reciprocal", "overlap", "disjoint"]
        if is_compared and not library.notices(path, fault):
            sys.exit(f"NOT NOTICED by the comparison: the planted fault {fault}")
    print(f"{len(faults)} planted faults are noticed; {time.monotonic() - begin:.1f} s in all")


if __name__ == "__main__":
    if len(sys.argv) < 2 or set(sys.argv[2:]) - {"--short"}:
        sys.exit(__doc__)
    main(sys.argv[1], "--short" in sys.argv)
