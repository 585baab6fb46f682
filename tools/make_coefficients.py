"""Write ``vitree/_core/lane/coefficients.h``: the polynomials behind every transcendental of the core.

Each function is interpolated at Chebyshev nodes in 60-digit arithmetic (mpmath), which is within a
small factor of the best polynomial of its degree; the degree is the least whose error is below
2^-53 of the function's size. Run: ``python tools/make_coefficients.py``.
"""

from __future__ import annotations

import pathlib

import mpmath as mp

mp.mp.dps = 60
GOAL = mp.mpf(2) ** -53


def power_series(terms):
    """Return s -> sum terms(n) s^n, n = 0, 1, ..., summed until the terms vanish."""

    def value(s):
        total, n = mp.mpf(0), 0
        while True:
            term = terms(n) * s**n
            total += term
            n += 1
            if n > 3 and abs(term) < mp.mpf(10) ** -50:
                return total

    return value


def bernoulli(n):
    """Return |B_2n| / (2n)!, by |B_2n| = 2 (2n)! zeta(2n) / (2 pi)^2n."""
    return 2 * mp.zeta(2 * n) / (2 * mp.pi) ** (2 * n)


def derivative(terms):
    """Return the terms of (1/theta) d/dtheta of a series in s = theta^2: twice the derivative by s."""
    return lambda n: 2 * (n + 1) * terms(n + 1)


def gamma(n):
    return bernoulli(n + 1)


def kappa(n):
    return -(2 * n + 1) * bernoulli(n + 1)


def beta(n):
    return mp.mpf(-1) ** n / mp.factorial(2 * n + 2)


def delta(n):
    return mp.mpf(-1) ** n / mp.factorial(2 * n + 3)


def asin_over_x(u):
    x = mp.sqrt(u)
    return (mp.asin(x) / x - 1) / u if u else mp.mpf(1) / 6


def atan_over_x(u):
    x = mp.sqrt(u)
    return (mp.atan(x) / x - 1) / u if u else -mp.mpf(1) / 3


QUARTER = (mp.pi / 4 * mp.mpf("1.0001")) ** 2
SMALL, MIDDLE = mp.mpf(1) / 64, mp.mpf(9) / 4
ATAN = (mp.sqrt(2) - 1) ** 2 * mp.mpf("1.0001")

# name: (function of s on [0, end], end, size of the term it corrects: the error may be 1/size)
TABLE = {
    "SIN": (power_series(lambda n: mp.mpf(-1) ** (n + 1) / mp.factorial(2 * n + 3)), QUARTER, QUARTER),
    "COS": (power_series(lambda n: mp.mpf(-1) ** n / mp.factorial(2 * n + 4)), QUARTER, QUARTER**2),
    "ASIN_SMALL": (asin_over_x, mp.mpf(1) / 256, mp.mpf(1) / 256),
    "ATAN": (atan_over_x, ATAN, ATAN),
}
for _name, _terms in {"GAMMA": gamma, "KAPPA": kappa, "BETA": beta, "DELTA": delta}.items():
    for _order in range(3):
        if _order == 2 and _name in ("BETA", "DELTA"):
            continue
        for _tier, _end in {"SMALL": SMALL, "MIDDLE": MIDDLE}.items():
            TABLE[f"{_name}{_order or ''}_{_tier}"] = (power_series(_terms), _end, None)
        _terms = derivative(_terms)


def interpolate(function, end, degree):
    nodes = [end * (1 + mp.cos(mp.pi * (2 * k + 1) / (2 * degree + 2))) / 2 for k in range(degree + 1)]
    matrix = mp.matrix(degree + 1, degree + 1)
    for row, s in enumerate(nodes):
        for column in range(degree + 1):
            matrix[row, column] = s**column
    return [float(c) for c in mp.lu_solve(matrix, mp.matrix([function(s) for s in nodes]))]


def fit(function, end, weight):
    """Return the coefficients of least degree, and their error after rounding to doubles."""
    points = [end * k / 40 for k in range(41)]
    values = [function(s) for s in points]
    scale = 1 / weight if weight else max(abs(v) for v in values)
    for degree in range(2, 20):
        coefficients = interpolate(function, end, degree)
        exact = [mp.polyval([mp.mpf(c) for c in reversed(coefficients)], s) for s in points]
        error = max(abs(a - b) for a, b in zip(exact, values, strict=True)) / scale
        if error < GOAL:
            return coefficients, error
    raise ValueError("no polynomial is good enough")


def estrin(coefficients, s):
    """Return the polynomial as a C expression of short dependency chains (Estrin 1960)."""
    terms = [repr(c) for c in coefficients]
    power = f"({s})"
    while len(terms) > 1:
        pairs = [f"({a} + {b} * {power})" for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[len(terms) - len(terms) % 2 :]
        power = f"({power} * {power})"
    return terms[0]


def two_over_pi(words):
    with mp.workprec(32 * words + 64):
        digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (32 * words)))
    return [(digits >> (32 * (words - 1 - k))) & 0xFFFFFFFF for k in range(words)]


def pi_half_parts():
    """Return pi/2 as two parts of 33 bits, so that n * part is exact for n < 2^20, and the rest."""
    rest, parts = mp.pi / 2, []
    for _ in range(2):
        exponent = mp.floor(mp.log(rest, 2))
        unit = mp.mpf(2) ** (exponent - 32)
        parts.append(mp.floor(rest / unit) * unit)
        rest -= parts[-1]
    return [*parts, rest]


def main():
    lines = ["/* Made by tools/make_coefficients.py; do not edit. */", "#ifndef VT_COEFFICIENTS_H",
             "#define VT_COEFFICIENTS_H", ""]
    for name, (function, end, weight) in TABLE.items():
        coefficients, error = fit(function, end, weight)
        print(f"{name:14s} degree {len(coefficients) - 1:2d}  error {float(error):.1e}")
        lines.append(f"#define VT_POLY_{name}(s) {estrin(coefficients, 's')}")
    for k, part in enumerate(pi_half_parts()):
        lines.append(f"#define VT_PIO2_{k + 1} {float(part)!r}")
    high = float(mp.pi / 2)
    lines.append(f"#define VT_PIO2_HIGH {high!r}")
    lines.append(f"#define VT_PIO2_LOW {float(mp.pi / 2 - mp.mpf(high))!r}")
    lines.append(f"#define VT_PIO4_HIGH {high / 2!r}")
    lines.append(f"#define VT_PIO4_LOW {float((mp.pi / 2 - mp.mpf(high)) / 2)!r}")
    lines.append(f"#define VT_TWO_OVER_PI {float(2 / mp.pi)!r}")
    words = ", ".join(f"0x{w:08x}u" for w in two_over_pi(44))
    lines += [f"#define VT_TWO_OVER_PI_WORDS {{{words}}}", "", "#endif", ""]
    path = pathlib.Path(__file__).parents[1] / "vitree" / "_core" / "lane" / "coefficients.h"
    path.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
