"""Make docs/_static/math.woff2, the glyphs of the manual's formulas: python tools/make_math_font.py FONT

FONT is STIXTwoMath-Regular.ttf or .otf.

A browser needs a font with the tables of mathematics, and many machines have none. STIX Two Math is under the SIL Open
Font License 1.1 (https://github.com/stipub/stixfonts; the package ziamath of PyPI has the file). Needs fontTools and
brotli.
"""

from __future__ import annotations

import pathlib
import sys

from fontTools import subset

OUT = pathlib.Path(__file__).parent.parent / "docs" / "_static" / "math.woff2"
#: ASCII, accents, Greek, letterlike and italic letters, arrows, operators, brackets: those of textbooks of mechanics.
GLYPHS = """U+0020-007E,U+00A0,U+00AC,U+00B1,U+00B7,U+00D7,U+00F7,U+0131,U+0237,U+02C6,U+02D9,U+02DC,U+00A8,U+00AF,
    U+0300-0308,U+030A,U+0332,U+0338,U+20D7,U+0391-03C9,U+03D1,U+03D5,U+03F5,U+2016,U+2026,U+2032-2034,U+2061-2064,
    U+210B-2113,U+211D,U+2190-2194,U+21A6,U+21D2,U+21D4,U+2200-2203,U+2205,U+2207-220B,U+220F-2213,U+2218,U+221A,
    U+221D,U+221E,U+2223,U+2225,U+2227-222B,U+2248,U+2260,U+2261,U+2264,U+2265,U+226A,U+226B,U+2282-2287,U+2295,
    U+2297,U+22A4,U+22A5,U+22C5,U+22EE-22F1,U+2308-230B,U+27E8,U+27E9,U+1D434-1D467,U+1D5B3,U+1D6A4,U+1D6A5,
    U+1D6E2-1D71B"""


def main(font: str) -> None:
    """Write the font."""
    subset.main([font, f"--unicodes={''.join(GLYPHS.split())}", "--flavor=woff2", f"--output-file={OUT}",
                 "--layout-features=ssty,dtls,flac", "--name-IDs=0,1,2,4,5,6,13,14", "--desubroutinize"])  # fmt: skip
    print(OUT, OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
