"""A USI engine that answers at once, with faults on request.

Without flags for it, it plays like instant_usi.py.  Flags combine.
"""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import fault_uci
from usi_player import UsiPlayer

if __name__ == "__main__":
    # no pawn jumps
    fault_uci.main(UsiPlayer, __doc__ or "", "7g7e")
