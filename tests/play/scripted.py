"""Engines that follow a script, without a process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from ringmaster.engines.channel import Channel
from ringmaster.engines.engine import Engine, GameOutcome, Limits, Thought
from ringmaster.engines.gtp import GtpEngine
from ringmaster.engines.process import Surroundings
from ringmaster.engines.usage import Usage
from ringmaster.errors import EngineRefused
from ringmaster.model.jobs import GameJob, GameSettings, Opening
from ringmaster.model.players import Player

MS = 1_000_000

#: What an engine does when asked for a move: a move, or an exception to raise.
Act = str | Exception | tuple[str, int]


class ScriptedChannel(Channel):
    def __init__(self) -> None:
        self.transcript = None
        self.stood_still = 0
        self.errors = SimpleNamespace(take=lambda: ["a line of standard error"])


class Scripted(Engine):
    """Plays the moves of a script, each in 1 ms unless ("move", ms) is given."""

    protocol = "uci"

    def __init__(self, player: Player, script: Iterable[Act]) -> None:
        super().__init__(player, Surroundings({}))
        self.script = iter(script)
        self.observed: list[tuple[int, str, bool]] = []
        self.requests: list[Limits] = []
        self.launch_error: Exception | None = None
        self.observe_error: Exception | None = None
        self.launches = 0
        self.ends = 0
        self.alive = False
        #: Seconds that it takes to stop once its time is up, None: it does not.
        self.stops_in: float | None = 0.25
        self.told_outcomes: list[GameOutcome] = []
        self.stand_in = ScriptedChannel()

    @property
    def channel(self) -> Any:
        return self.stand_in

    @property
    def is_launched(self) -> bool:
        return self.launches > 0

    def is_usable(self) -> bool:
        return self.alive

    def start_early(self, transcript: Any = None) -> None: ...

    def launch(self, transcript: Any = None, *, timeout: float = 30.0) -> None:
        if self.launch_error is not None:
            raise self.launch_error
        self.launches += 1
        self.alive = True

    def _shake_hands(self) -> None: ...

    def check(self, settings: GameSettings) -> list[str]:
        return []

    def start_game(self, settings: GameSettings, opening: Opening, colour: int) -> None: ...

    def think(self, colour: int, limits: Limits) -> Thought:
        self.requests.append(dataclasses.replace(limits))
        act = next(self.script)
        if isinstance(act, Exception):
            raise act
        move, ms = act if isinstance(act, tuple) else (act, 1)
        kind: Any = move if move in ("resign", "claim") else "move"
        return Thought(kind, move, ms * MS)

    def stop_thinking(self, seconds: float) -> Thought | None:
        return None if self.stops_in is None else Thought("move", "", round(self.stops_in * 1e9))

    def has_exited(self) -> bool:
        return not self.alive

    def end_game(self, outcome: GameOutcome) -> None:
        self.told_outcomes.append(outcome)

    def observe(self, colour: int, move: str, *, own: bool) -> None:
        self.observed.append((colour, move, own))
        if self.observe_error is not None and not own:
            raise self.observe_error

    def last_words(self) -> str:
        return "last words"

    def measure(self) -> Usage:
        return Usage(1.5, 1000)

    def restart_count(self) -> None: ...

    def _say_goodbye(self) -> None: ...

    def say_goodbye(self) -> None: ...

    def end(self, patience: float = 1.0) -> None:
        self.alive = False
        self.ends += 1


class ScriptedGo(Scripted, GtpEngine):
    """The same for Go; `answers` are responses to other commands."""

    protocol = "gtp"

    def __init__(
        self,
        player: Player,
        script: Iterable[Act],
        answers: Mapping[str, str | Exception] | None = None,
    ) -> None:
        super().__init__(player, script)
        self.answers: dict[str, str | Exception] = {**(answers or {})}
        self.commands: list[tuple[str, ...]] = []
        self.sent_times: list[Limits] = []
        self.cpu_times: list[float] = []

    def knows(self, name: str) -> bool:
        return name in self.answers

    def command(self, *words: str, seconds: float | None = None) -> str:
        self.commands.append(words)
        if words[0] not in self.answers:
            raise EngineRefused("unknown command", self.player.code)
        answer = self.answers[words[0]]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def optional(self, *words: str) -> str | None:
        return self.command(*words) if words[0] in self.answers else None

    def send_time(self, limits: Limits) -> None:
        self.sent_times.append(dataclasses.replace(limits))

    def cpu_time(self) -> float | None:
        return self.cpu_times.pop(0) if self.cpu_times else None


def chess_player(code: str, **settings: Any) -> Player:
    return Player(code, ("x",), protocol="uci", **{"nodes": 1, **settings})


def job(*players: Player, game: Any = "chess", **settings: Any) -> GameJob:
    first, second = players
    settings = {"board_size": 9, "komi": 6.5, **settings} if game == "go" else settings
    opening = settings.pop("opening", Opening())
    return GameJob("g", (first, second), GameSettings(game=game, **settings), opening=opening)


Make = Callable[[Player], Engine]
