"""The honest part of the USI test engines: like the UCI one, with a shogi game."""

from __future__ import annotations

from scripted_games import SHOGI_GAME
from uci_player import UciPlayer

#: name, type and range as declared, default; USI_Hash is taken without a declaration
OPTIONS = [
    ("USI_Ponder", "check default false", "false"),
    ("EvalDir", "string default eval", "eval"),
    ("Strength", "spin default 500 min 0 max 1000", "500"),
]


GAMES = {200: SHOGI_GAME}


class UsiPlayer(UciPlayer):
    """Answers one command after the other, at once; resigns when the script is over."""

    protocol = "usi"
    declared = OPTIONS
    games = GAMES
    last = b"bestmove resign\n"

    def _set_option(self, line: str) -> bytes:
        return b"" if " USI_Hash " in line else super()._set_option(line)
