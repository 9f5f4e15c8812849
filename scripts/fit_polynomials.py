#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the polynomials of compiler/kernel/math_coefficients.h and prints that file. Needs mpmath.

Each function is interpolated at Chebyshev nodes in high precision, which is within a small factor of the minimax polynomial, and written out in
powers of its variable.
"""
import mpmath as mp

mp.mp.prec = 300


def fit(function, low, high, terms):
    low, high = mp.mpf(low), mp.mpf(high)
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * terms)) for i in range(terms)]
    # Newton's divided differences, then expansion into powers.
    table = [function(x) for x in nodes]
    for level in range(1, terms):
        for i in range(terms - 1, level - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - level])
    coefficients = [table[-1]]
    for i in range(terms - 2, -1, -1):
        shifted = [mp.mpf(0)] + coefficients
        for j, c in enumerate(coefficients):
            shifted[j] -= nodes[i] * c
        shifted[0] += table[i]
        coefficients = shifted
    return coefficients


def from_series(term, count=80):
    return lambda z: mp.fsum(term(k) * z**k for k in range(count))


def erf_ratio(z):
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def scaled_erfc(t):
    # x = (1 + t) / (1 - t) * kErfScale, so that t = (x - s) / (x + s).
    s = mp.mpf(2)
    x = s * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x)


LN2 = mp.log(2)
HALF_LN2 = LN2 / 2 * mp.mpf("1.01")
S_MAX = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
QUARTER = (mp.pi / 4) ** 2 * mp.mpf("1.01")

FITS = [
    ("Exp", "(e^r - 1 - r) / r^2, |r| <= ln 2 / 2", lambda k: 1 / mp.factorial(k + 2), -HALF_LN2, HALF_LN2, 6, 12),
    ("Log", "log((1 + s) / (1 - s)) / s - 2 in z = s^2, over z", lambda k: mp.mpf(2) / (2 * k + 3), 0, S_MAX**2 * mp.mpf("1.01"), 4, 9),
    ("Sin", "(sin(r) / r - 1) / z in z = r^2", lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3), 0, QUARTER, 4, 8),
    ("Cos", "(cos(r) - 1 + z / 2) / z^2 in z = r^2", lambda k: (-1) ** k / mp.factorial(2 * k + 4), 0, QUARTER, 4, 8),
    ("Asin", "(asin(x) / x - 1) / z in z = x^2 <= 1/4",
     lambda k: mp.factorial(2 * k + 2) / (4 ** (k + 1) * mp.factorial(k + 1) ** 2 * (2 * k + 3)), 0, mp.mpf("0.2501"), 7, 15),
    ("Atan", "(atan(t) / t - 1) / z in z = t^2, |t| <= tan(pi / 8)", lambda k: mp.mpf(-1) ** (k + 1) / (2 * k + 3), 0, mp.mpf("0.1717"), 6, 14),
]


def emit(name, comment, values):
    print(f"// {comment}.")
    print(f"inline constexpr double {name}[] = {{")
    for i in range(0, len(values), 4):
        print("    " + " ".join(mp.nstr(v, 19, min_fixed=0, max_fixed=0) + "," for v in values[i:i + 4]))
    print("};\n")


def two_over_pi(bits, chunk):
    with mp.workprec(bits + 100):
        value = int(mp.floor(2 / mp.pi * mp.mpf(2) ** bits))
    return [(value >> (bits - chunk * (i + 1))) & ((1 << chunk) - 1) for i in range(bits // chunk)]


def main():
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Coefficients of math.cc, lowest power first. Generated: scripts/fit_polynomials.py > compiler/kernel/math_coefficients.h")
    print("#pragma once\n\n#include <cstdint>\n\nnamespace tiffin::kernel::math {\n")
    for name, comment, term, low, high, single, double in FITS:
        function = from_series(term)
        emit(f"k{name}32", comment, fit(function, low, high, single))
        emit(f"k{name}64", comment, fit(function, low, high, double))
    emit("kErf32", "erf(x) / x - 1 in z = x^2 <= 1", fit(erf_ratio, mp.mpf("1e-40"), mp.mpf("1.001"), 8))
    emit("kErf64", "erf(x) / x - 1 in z = x^2 <= 1", fit(erf_ratio, mp.mpf("1e-40"), mp.mpf("1.001"), 16))
    last = mp.mpf("0.6")  # x = 8
    first = mp.mpf(-1) / 3  # x = 1
    emit("kErfc32", "exp(x^2) erfc(x) in t = (x - 2) / (x + 2), 1 <= x <= 8", fit(scaled_erfc, first, last, 9))
    emit("kErfc64", "exp(x^2) erfc(x) in t = (x - 2) / (x + 2), 1 <= x <= 8", fit(scaled_erfc, first, last, 21))
    chunks = two_over_pi(1200, 24)
    print("// Bits of 2 / pi, 24 at a time, the first after the binary point.")
    print("inline constexpr int32_t kTwoOverPi[] = {")
    for i in range(0, len(chunks), 10):
        print("    " + " ".join(f"0x{c:06x}," for c in chunks[i:i + 10]))
    print("};\n\n}  // namespace tiffin::kernel::math")


main()
