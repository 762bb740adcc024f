"""UCI and USI as data: the words in which they differ, and positions to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ringmaster.games.game import Game


def moves_of(text: str) -> tuple[str, ...]:
    """Return the moves of a line, as a probe has them."""
    return tuple(text.split())


@dataclass(frozen=True)
class Probe:
    """A position that an engine must have a move for.

    name   what is special about it, for messages
    fen    FEN or SFEN, None for the start position; then `moves` are played
    sign   +1 or -1: who is so far ahead, the mover or the other side, that any
           score must have this sign
    mate   mate that the mover gives (> 0) or suffers (< 0), in the protocol's
           count, 0 for none known
    plies  the same mate in plies
    """

    name: str
    fen: str | None = None
    moves: tuple[str, ...] = ()
    sign: int = 0
    mate: int = 0
    plies: int = 0


@dataclass(frozen=True)
class Dialect:
    """A protocol of the UCI family.

    hello, greeting  the first command and the end of its answer
    new_game         the command before a game
    start_word       what stands before a FEN ("fen") or SFEN ("sfen")
    first, second    the clocks of the side that moves first and of the other
    increments       their increments; no_increment: what is said without them
    extra_words      what may stand in place of a move (resignation, claim)
    pv_words         what may stand at the end of a line of play besides
    sides            names of the sides in the order of their moves
    expected         options that users count on, where the engine must declare them
    memory           the option for the size of the hash table
    ponder           the option that allows to ponder
    mate_unit        what mates are counted in, "moves" or "plies"
    new              makes a game by the rules from a FEN or SFEN
    probes           positions, the start position first
    middlegame       one of them, the side that moves first to move, for searches
                     that take their time; reply: the same for the other side
    long_game        a position after hundreds of moves
    """

    name: str
    hello: str
    greeting: str
    new_game: str
    start_word: str
    first: str
    second: str
    increments: tuple[str, str]
    no_increment: str
    extra_words: frozenset[str]
    pv_words: frozenset[str]
    sides: tuple[str, str]
    expected: tuple[str, ...]
    memory: str
    ponder: str
    mate_unit: str
    new: Callable[[str | None], Game]
    probes: tuple[Probe, ...]
    middlegame: Probe
    reply: Probe
    long_game: Probe

    def position(self, probe: Probe) -> str:
        """Return the position command of a probe."""
        start = "startpos" if probe.fen is None else f"{self.start_word} {probe.fen}"
        return f"position {start}" + (f" moves {' '.join(probe.moves)}" if probe.moves else "")

    def game(self, probe: Probe) -> Game:
        """Return the game of a probe, its moves played."""
        game = self.new(probe.fen)
        for move in probe.moves:
            game.play(move)
        return game

    def clocks(self, first: int, second: int, increment: int = 0) -> str:
        """Return a `go` command with both clocks, in ms."""
        words = f"go {self.first} {first} {self.second} {second}"
        if not increment:
            return words + self.no_increment
        return words + "".join(f" {name} {increment}" for name in self.increments)
