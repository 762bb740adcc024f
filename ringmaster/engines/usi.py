"""The Universal Shogi Interface, as far as it is not shared with UCI.

Differences that matter: options are read at `isready`, before `usinewgame`; the
clock may be byo-yomi; an engine resigns, declares a win, and is told the result.
"""

from __future__ import annotations

from typing import Final

from ringmaster.engines.engine import GameOutcome, Limits, ThoughtKind
from ringmaster.engines.options import OptionDeclaration
from ringmaster.engines.universal import UniversalEngine, move_limits
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import OptionValue

#: Options that may be set although an engine does not declare them: by the text of
#: the protocol every engine has them.
_ALWAYS: Final = {
    option.name.casefold(): option
    for option in (
        OptionDeclaration("USI_Hash", "spin", minimum=1),
        OptionDeclaration("USI_Ponder", "check", "false"),
    )
}

#: Options that say after how many plies a game is drawn (YaneuraOu, dlshogi).
_MOVE_LIMITS: Final = ("maxmovestodraw", "draw_ply")

#: Answers that are no moves.
_KINDS: Final[dict[str, ThoughtKind]] = {"resign": "resign", "win": "claim"}


class UsiEngine(UniversalEngine):
    """A shogi engine over USI."""

    protocol = "usi"
    _setup_word = "sfen"
    # Fairy-Stockfish declares UCI's name over USI, too
    _ponder_options = ("USI_Ponder", "Ponder")

    def _declared(self, name: str) -> OptionDeclaration | None:
        return super()._declared(name) or _ALWAYS.get(name.casefold())

    def _own_options(self, settings: GameSettings, opening: Opening) -> dict[str, OptionValue]:
        own = super()._own_options(settings, opening)
        if self.player.ponder and not own and not any(map(self._gives, ("usi_ponder", "ponder"))):
            own = {"USI_Ponder": True}
        return {**own, **self._move_limit(settings, opening)}

    def _move_limit(self, settings: GameSettings, opening: Opening) -> dict[str, OptionValue]:
        """Return the option that tells of the move limit, where it makes a draw and
        the engine has a word for it that the player leaves alone."""
        if not settings.move_limit or settings.move_limit_result == "unknown":
            return {}
        for name in _MOVE_LIMITS:
            option = self._declared(name)
            if option is None or option.type != "spin":
                continue
            # they count as the move numbers of a position do
            plies = _first_number(opening) - 1 + len(opening.moves) + settings.move_limit
            fits = option.maximum is None or plies <= option.maximum
            return {option.name: plies} if fits and not self._gives(name) else {}
        return {}

    def _ready_lines(self, options: list[str]) -> list[str]:
        return options

    def start_game(self, settings: GameSettings, opening: Opening, colour: int) -> None:
        super().start_game(settings, opening, colour)
        self.channel.send(b"usinewgame\n", self._timeout)

    def _go_command(self, limits: Limits, *, ponder: bool = False) -> bytes:
        return go_command(limits, ponder=ponder)

    def _kind(self, answer: str) -> ThoughtKind:
        return _KINDS.get(answer, "move")

    def end_game(self, outcome: GameOutcome) -> None:
        self.channel.send(f"gameover {outcome}\n".encode(), 0.1)


def go_command(limits: Limits, *, ponder: bool = False) -> bytes:
    """Return the `go` line for the limits, its newline included.

    Byo-yomi is 0 where there is neither it nor an increment: some engines take a `go`
    without it for a search without end.  The text of USI has increments or byo-yomi;
    YaneuraOu reads both together.
    """
    words = b"go ponder" if ponder else b"go"
    if limits.clock_ms is not None:
        words = b"%b btime %d wtime %d" % (words, *limits.clock_ms)
        has_increment = limits.increment_ms != (0, 0)
        if limits.byoyomi_ms or not has_increment:
            words = b"%b byoyomi %d" % (words, limits.byoyomi_ms)
        if has_increment:
            words = b"%b binc %d winc %d" % (words, *limits.increment_ms)
    return words + move_limits(limits) + b"\n"


def _first_number(opening: Opening) -> int:
    """Return the number of the first move from a start position."""
    number = "" if opening.fen is None else opening.fen.split()[-1]
    return max(1, int(number)) if number.isdecimal() and len(number) < 6 else 1
