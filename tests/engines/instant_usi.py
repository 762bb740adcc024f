"""A USI engine that answers at once, with moves from a script.

It plays against itself.  --outcome and --openings, which need the rules of chess, do nothing.
Start it with `python -I -S`.
"""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import instant_uci
from usi_player import UsiPlayer

if __name__ == "__main__":
    instant_uci.main(UsiPlayer, __doc__ or "")
