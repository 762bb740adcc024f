"""The pre-flight check: whether an engine keeps to its protocol.

`examine` puts an engine through a series of tests and says what passed, what is
odd, what would spoil games, and which settings would suit the engine.  The tests
themselves are in the other modules: `searching`, `limits` and `conduct` for UCI
and USI, whose differences are data (`dialects`, `chess_probes`, `shogi_probes`),
and `go` for GTP.
"""

from ringmaster.play.compliance.examination import Examined, examine

__all__ = ["Examined", "examine"]
