"""Players: how an engine is launched, set up and limited."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from ringmaster.model.time_control import TimeControl

GameName = Literal["go", "chess", "shogi"]
ProtocolName = Literal["gtp", "uci", "usi"]
Restart = Literal["auto", "on", "off"]
ScoreView = Literal["mover", "opponent", "white", "black"]
OptionValue = bool | int | float | str

#: The protocol of a game's engines unless a player says otherwise.
PROTOCOL_OF_GAME: dict[GameName, ProtocolName] = {"go": "gtp", "chess": "uci", "shogi": "usi"}

#: Added to a player's code for the second side of a matchup with itself (Gomill);
#: "#" cannot occur in a code of the control file.
SECOND_SELF: Final = "#2"


class Player(msgspec.Struct, frozen=True):
    """One engine with its settings.

    command       executable and arguments; argv[0] has been resolved against
                  PATH or the competition directory only when it holds a "/"
    cwd           working directory (absolute), or None for ringmaster's own
    environ       variables set on top of the inherited ones
    options       UCI/USI options to set, by name
    startup_gtp_commands  GTP commands sent at the beginning of each game
    move_time     seconds a move; nodes and depth as the protocol means them
    restart       "on": a new process for each game, "off": kept from game to
                  game, "auto": kept for UCI and USI, new for GTP
    margin        seconds it may overstep its clock, None: the game's
    ponder        whether it thinks on the opponent's time
    ready_timeout  seconds to start and to get ready for a game; None: the usual
    score_pov     from whose side its scores are
    """

    code: str
    command: tuple[str, ...]
    protocol: ProtocolName = "gtp"
    cwd: str | None = None
    environ: dict[str, str] = {}
    options: dict[str, OptionValue] = {}
    startup_gtp_commands: tuple[tuple[str, ...], ...] = ()
    gtp_aliases: dict[str, str] = {}
    discard_stderr: bool = False
    is_reliable_scorer: bool = True
    allow_claim: bool = False
    sgf_player_name_from_gtp: bool = True
    time_control: TimeControl | None = None
    nodes: int | None = None
    depth: int | None = None
    move_time: float | None = None
    restart: Restart = "auto"
    margin: float | None = None
    ponder: bool = False
    ready_timeout: float | None = None
    score_pov: ScoreView = "mover"

    @property
    def keeps_process(self) -> bool:
        """Whether the engine process goes on from one game to the next."""
        return self.restart == "off" or (self.restart == "auto" and self.protocol != "gtp")

    def turns_scores(self, colour: int) -> bool:
        """Whether a score that it prints as `colour` has the opposite sign of one
        from its own side."""
        if self.score_pov in ("mover", "opponent"):
            return self.score_pov == "opponent"
        # Black moves first in shogi
        plays_white = colour == (1 if self.protocol == "usi" else 0)
        return plays_white != (self.score_pov == "white")


def describe_limits(player: Player) -> str:
    """Return a player's limits for a record or report, e.g. "10+0.1" or
    "nodes 1000"; "" without any."""
    parts = [] if player.time_control is None else [str(player.time_control)]
    if player.move_time is not None:
        parts.append(f"{player.move_time:g} s a move")
    if player.nodes is not None:
        parts.append(f"nodes {player.nodes}")
    if player.depth is not None:
        parts.append(f"depth {player.depth}")
    return ", ".join(parts)
