"""The engines of one worker, kept alive from job to job where their players allow it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Final

from ringmaster.engines.engine import QUIT_PATIENCE, RESTART_PATIENCE, Engine
from ringmaster.engines.gtp import GtpEngine
from ringmaster.engines.process import Surroundings
from ringmaster.engines.uci import UciEngine, UsiEngine
from ringmaster.model.builds import file_words
from ringmaster.model.players import Player

ENGINE_OF_PROTOCOL: Final[dict[str, type[Engine]]] = {
    "gtp": GtpEngine,
    "uci": UciEngine,
    "usi": UsiEngine,
}

MakeEngine = Callable[[Player, Surroundings], Engine]


def make_engine(
    player: Player, surroundings: Surroundings, *, interrupt_fd: int | None = None
) -> Engine:
    """Return an engine that has not been launched."""
    kind = ENGINE_OF_PROTOCOL[player.protocol]
    return kind(player, surroundings, interrupt_fd=interrupt_fd)


def launch_key(player: Player) -> Hashable:
    """Return a key that is equal for players who can share a process."""
    key = (
        player.protocol,
        player.command,
        player.cwd,
        tuple(sorted(player.environ.items())),
        player.discard_stderr,
        player.max_memory,
        player.max_cpu,
        player.max_processes,
        player.sandbox,
        # a process has one build
        tuple(v for v in player.options.values() if isinstance(v, str) and file_words(v)),
    )
    if player.protocol != "gtp":
        return key
    # GTP cannot restore the initial state.  Two players share a process only if they have the
    # same startup commands except for the last words, which are values, and the same clock.
    return (
        *key,
        tuple(sorted(player.gtp_aliases.items())),
        tuple(words[:-1] or words for words in player.startup_gtp_commands),
        player.time_control,
        player.move_time,
        # Leela Zero is told not to ponder
        player.analysis,
        player.visits is None,
        player.playouts is None,
    )


class EnginePool:
    """Engines between games, and between checks and games.

    Guarantees: `take` returns different engines for the two players; an unhealthy or dead
    engine is never reused; after `close` no engine is alive.
    """

    def __init__(self, make: MakeEngine) -> None:
        self._make = make
        self._idle: list[Engine] = []
        #: Keys of engines that need synchronisation.
        self._need_sync: set[Hashable] = set()

    def take(self, players: Sequence[Player], surroundings: Surroundings) -> list[Engine]:
        """Return engines for the players; new ones are not launched (`is_usable()` is False).

        Ends idle engines that the game does not need.
        """
        chosen: list[Engine | None] = [None] * len(players)
        # A player's own last process comes first: its options are set.
        for same_code in (True, False):
            for i, player in enumerate(players):
                if chosen[i] is None:
                    chosen[i] = self._pick(player, surroundings, same_code)
        self.close()
        return [
            engine or self._make_known(player, surroundings)
            for engine, player in zip(chosen, players, strict=True)
        ]

    def take_one(
        self, player: Player, surroundings: Surroundings, *, same_options: bool = False
    ) -> Engine:
        """Return an engine as `take` does, for a job that needs only one.

        same_options  whether to exclude a process with other options
        """
        if same_options:
            others = [e for e in self._idle if e.player.options != player.options]
            self._idle = [e for e in self._idle if e.player.options == player.options]
            _end_all(others, RESTART_PATIENCE)
        return self.take((player,), surroundings)[0]

    def take_for_check(self, player: Player, surroundings: Surroundings) -> Engine:
        """Return an engine for a check; `keep` returns it.  At most two are alive at a time,
        as in a game."""
        chosen = self._pick(player, surroundings, True) or self._pick(player, surroundings, False)
        if chosen is None:
            _end_all(self._idle[:-1], QUIT_PATIENCE)
            del self._idle[:-1]
        return chosen or self._make_known(player, surroundings)

    def keep(self, engine: Engine) -> None:
        """Keep an engine after a check for its player's first game."""
        self._note_habits(engine)
        self._idle.append(engine)

    def _make_known(self, player: Player, surroundings: Surroundings) -> Engine:
        """Return a new engine that knows the habits of its kind."""
        engine = self._make(player, surroundings)
        engine.needs_sync = launch_key(player) in self._need_sync
        return engine

    def _note_habits(self, engine: Engine) -> None:
        if engine.needs_sync:
            self._need_sync.add(launch_key(engine.player))

    def _pick(self, player: Player, surroundings: Surroundings, same_code: bool) -> Engine | None:
        if not player.keeps_process:
            return None
        key = launch_key(player)
        for i, engine in enumerate(self._idle):
            if launch_key(engine.player) != key:
                continue
            if same_code and engine.player.code != player.code:
                continue
            del self._idle[i]
            if engine.is_reusable():
                engine.change_player(player, surroundings)
                return engine
            engine.end(patience=RESTART_PATIENCE)
            return None
        return None

    def give_back(self, engines: Sequence[Engine], healthy: bool) -> None:
        """Keep or end engines after a game; unhealthy ones are ended."""
        leaving = []
        for engine in engines:
            self._note_habits(engine)
            if healthy and engine.player.keeps_process and engine.is_usable():
                self._idle.append(engine)
            else:
                leaving.append(engine)
        _end_all(leaving, QUIT_PATIENCE)

    def close(self, patience: float = QUIT_PATIENCE) -> None:
        """End every idle engine within `patience` seconds in all."""
        _end_all(self._idle, patience)
        self._idle.clear()


def _end_all(engines: list[Engine], patience: float) -> None:
    """End engines, which quit at the same time."""
    for engine in engines:
        engine.say_goodbye()
    deadline = time.monotonic() + patience
    for engine in engines:
        engine.end(max(0.05, deadline - time.monotonic()))
