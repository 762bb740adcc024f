"""The decided games of uci_player.py, which imports its neighbours by bare name."""

from __future__ import annotations

import runpy
import sys

from tests.engines_selftest.driver import ENGINES

sys.path.insert(0, str(ENGINES))
try:
    _names = runpy.run_path(str(ENGINES / "uci_player.py"))
finally:
    sys.path.remove(str(ENGINES))

LEVELS: tuple[str, ...] = _names["LEVELS"]
WHITE_WINS: tuple[str, ...] = _names["WHITE_WINS"]
BLACK_WINS: tuple[str, ...] = _names["BLACK_WINS"]
DRAW: tuple[str, ...] = _names["DRAW"]
