"""The engines of one worker: kept alive from job to job where their players allow it,
and ended when no job needs them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ringmaster.engines.engine import QUIT_PATIENCE, Engine
from ringmaster.engines.gtp import GtpEngine
from ringmaster.engines.process import Surroundings
from ringmaster.engines.uci import UciEngine
from ringmaster.engines.usi import UsiEngine
from ringmaster.errors import EngineNotStarted
from ringmaster.model.players import Player

#: What can be spoken to.
ENGINE_OF_PROTOCOL: Final[dict[str, type[Engine]]] = {
    "gtp": GtpEngine,
    "uci": UciEngine,
    "usi": UsiEngine,
}

#: Seconds for an engine to quit that another process of the same is waiting to replace;
#: GNU Chess takes its time.
RESTART_PATIENCE: Final = 0.1

MakeEngine = Callable[[Player, Surroundings], Engine]


def make_engine(
    player: Player, surroundings: Surroundings, *, interrupt_fd: int | None = None
) -> Engine:
    """Return an engine that has not been launched.  Raises EngineNotStarted
    for a protocol that nobody here speaks."""
    kind = ENGINE_OF_PROTOCOL.get(player.protocol)
    if kind is None:
        raise EngineNotStarted(f"protocol {player.protocol!r} is not supported yet", player.code)
    return kind(player, surroundings, interrupt_fd=interrupt_fd)


def launch_key(player: Player) -> Any:
    """Return what two players must share to be served by one process."""
    key: tuple[Any, ...] = (
        player.protocol,
        player.command,
        player.cwd,
        sorted(player.environ.items()),
        player.discard_stderr,
    )
    if player.protocol == "usi":
        # set without a declaration, so that there is no default to go back to
        return (*key, "USI_Hash" in player.options)
    if player.protocol != "gtp":
        return key
    # GTP has no way back to the state at the start: a process may serve another
    # player only if the same commands are sent again, but for their last words,
    # which are taken for values; and only on the same clock: there may be no way
    # to tell the engine of another.
    return (
        *key,
        sorted(player.gtp_aliases.items()),
        [words[:-1] or words for words in player.startup_gtp_commands],
        player.time_control,
        player.move_time,
    )


class EnginePool:
    """Engines between games, and between checks and games.

    Guarantees: `take` gives each player an engine of its own; an engine that is
    given back as unhealthy, or that died meanwhile, is never given out again;
    after `close` no engine is alive.
    """

    def __init__(self, make: MakeEngine) -> None:
        self._make = make
        self._idle: list[Engine] = []
        #: Keys of what was found to take one command at a time.
        self._one_at_a_time: list[Any] = []

    def take(
        self, players: tuple[Player, Player], surroundings: Surroundings
    ) -> tuple[Engine, Engine]:
        """Return engines for both players; the ones that are new still have to
        be launched (`is_alive()` is False).  Idle engines that the game does
        not need are ended, so that they do not sit in memory."""
        chosen: list[Engine | None] = [None, None]
        # The process that this very player used last comes first: it has its
        # options set and its memory warm.
        for same_code in (True, False):
            for i, player in enumerate(players):
                if chosen[i] is None:
                    if player.keeps_process:
                        chosen[i] = self._pick(player, same_code)
                    else:
                        chosen[i] = self._pick_checked(player)
        self.close()
        first, second = (
            engine or self._make_known(player, surroundings)
            for engine, player in zip(chosen, players, strict=True)
        )
        return first, second

    def take_one(
        self, player: Player, surroundings: Surroundings, *, same_options: bool = False
    ) -> Engine:
        """Return an engine as `take` does, for a job that needs only one.

        same_options  whether one that has been given other options does not serve
        """
        if same_options:
            strangers = [e for e in self._idle if e.player.options != player.options]
            self._idle = [e for e in self._idle if e.player.options == player.options]
            _end_all(strangers, RESTART_PATIENCE)
        chosen = self._pick(player, True) or self._pick(player, False)
        if chosen is not None and not player.keeps_process:
            chosen.end(RESTART_PATIENCE)
            chosen = None
        self.close()
        return chosen or self._make_known(player, surroundings)

    def take_for_check(self, player: Player, surroundings: Surroundings) -> Engine:
        """Return an engine for a check, for `keep` afterwards.  No more than two are alive
        at a time, as in a game."""
        chosen = None
        if player.keeps_process:
            chosen = self._pick(player, True) or self._pick(player, False)
        if chosen is None:
            _end_all(self._idle[:-1], QUIT_PATIENCE)
            del self._idle[:-1]
        return chosen or self._make_known(player, surroundings)

    def keep(self, engine: Engine) -> None:
        """Take an engine back after a check, for the first game of its player."""
        self._note_habits(engine)
        self._idle.append(engine)

    def _make_known(self, player: Player, surroundings: Surroundings) -> Engine:
        """Return a new engine that is told what was found out of others like it."""
        engine = self._make(player, surroundings)
        if self._one_at_a_time and launch_key(player) in self._one_at_a_time:
            engine.takes_one_command = True
        return engine

    def _note_habits(self, engine: Engine) -> None:
        if engine.takes_one_command:
            key = launch_key(engine.player)
            if key not in self._one_at_a_time:
                self._one_at_a_time.append(key)

    def _pick(self, player: Player, same_code: bool) -> Engine | None:
        key = launch_key(player)
        for i, engine in enumerate(self._idle):
            if launch_key(engine.player) != key:
                continue
            if same_code and engine.player.code != player.code:
                continue
            del self._idle[i]
            if engine.is_fit():
                engine.serve(player)
                return engine
            engine.end(patience=0.1)
            return None
        return None

    def _pick_checked(self, player: Player) -> Engine | None:
        """Return the process that has been checked for a player that wants a new one for
        each game, if it has not been used since."""
        for i, engine in enumerate(self._idle):
            same = msgspec.structs.replace(engine.player, code=player.code) == player
            if same and engine.checked_for is not None and engine.is_fit():
                del self._idle[i]
                engine.serve(player)
                return engine
        return None

    def give_back(self, engines: tuple[Engine, ...], healthy: bool) -> None:
        """Take engines back after a game; unhealthy ones are ended."""
        leaving = []
        for engine in engines:
            self._note_habits(engine)
            if healthy and engine.player.keeps_process and engine.is_alive():
                self._idle.append(engine)
            else:
                leaving.append(engine)
        _end_all(leaving, QUIT_PATIENCE)

    def close(self, patience: float = QUIT_PATIENCE) -> None:
        """End every idle engine within `patience` seconds for all together."""
        _end_all(self._idle, patience)
        self._idle.clear()


def _end_all(engines: list[Engine], patience: float) -> None:
    """End engines that may all quit at the same time."""
    for engine in engines:
        engine.say_goodbye()
    deadline = time.monotonic() + patience
    for engine in engines:
        engine.end(max(0.05, deadline - time.monotonic()))
