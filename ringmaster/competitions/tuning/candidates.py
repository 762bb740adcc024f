"""The common bases of clop_tuner, mc_tuner and ce_tuner: candidates play opponents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.common_settings import (
    COMMON_SETTINGS,
    PLAYER,
    PlayerDefinition,
    find_player,
)
from ringmaster.competitions.result_lines import expected_repeats
from ringmaster.competitions.setting_types import endless_warning, is_endless, limit_of, optional
from ringmaster.competitions.tally import Tally
from ringmaster.competitions.tuning.opponents import make_player
from ringmaster.competitions.tuning.parameter_binding import CandidateParameter, FailedValue
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, check_codes
from ringmaster.competitions.tuning.player_tune import OPPONENT, TUNE_GAME_SETTINGS, GameTune
from ringmaster.errors import SettingError, counted, shown
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import CheckJob, Ticket
from ringmaster.model.players import GameName
from ringmaster.model.randomness import COLOUR_STREAM, words
from ringmaster.model.report import LEFT, Column
from ringmaster.model.settings import (
    Context,
    Function,
    Identifier,
    OneOf,
    Setting,
    SettingPath,
    String,
)

#: Longest text of parameters in a verdict.
BRIEF = 70
#: Code of a player that make_candidate returns, and the beginning of all candidates' codes.
CANDIDATE = "candidate"
#: Colour of the first mover.
_FIRST: dict[GameName, str] = {"go": "b", "chess": "w", "shogi": "b"}


class _Colour(OneOf):
    """One of a few strings; "b" and "w" also in Gomill's other forms: "black", "W"."""

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str) and value.lower() in ("b", "black", "w", "white"):
            value = value[0].lower()
        return super().interpret(value, path, context)


#: Arguments of every Parameter(…).
PARAMETER_ARGUMENTS: tuple[Setting, ...] = (
    Setting("code", Identifier(), "Short name for messages and reports."),
    optional(
        "format",
        String(),
        'Format of values in reports, such as ``"I: %4.2f"``; by default the code and ``%s``.',
        change="report",
    ),
    optional(
        "option",
        String(),
        "Name of the engine option, without make_candidate; by default the code.",
    ),
)

#: Settings of both tuners, without the parameters.
CANDIDATE_SETTINGS: tuple[Setting, ...] = (
    *COMMON_SETTINGS,
    *TUNE_GAME_SETTINGS,
    Setting("opponent", Identifier(), "Code of the candidates' opponent.", change="refused"),
    Setting(
        "candidate_colour",
        _Colour("b", "w", "random", "alternating"),
        "The candidates' colour in all games; random and alternating depend on the game's number.",
        change="refused",
    ),
    optional(
        "make_candidate",
        Function(
            "a function that takes one value for each parameter and returns a Player", result=PLAYER
        ),
        "Function that returns a player with engine parameters, in the order of `parameters`.",
    ),
    optional(
        "player",
        Identifier(),
        "Without make_candidate: code of the player with the parameters as options.",
        change="refused",
    ),
)


#: The first columns of a listing of candidates.
CANDIDATE_COLUMNS = (
    Column(
        "candidate", "candidate", lambda code: code.removeprefix(CANDIDATE), align=LEFT, live=True
    ),
    Column("parameters"),
    Column("text", "parameters", align=LEFT, live=True, in_data=False),
)


def candidate_seat(values: Mapping[str, Any], number: int) -> int:
    """Return the candidate's place in game `number`: 0 if it moves first."""
    colour = values["candidate_colour"]
    if colour == "alternating":
        return number % 2
    if colour == "random":
        return words(values["seed"], COLOUR_STREAM, number, 1)[0] % 2
    return 0 if colour == _FIRST[values["game"]] else 1


class CandidateTune(GameTune):
    """Base of the types whose candidates play opponents, with one candidate a game."""

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        self._given = values
        make = values["make_candidate"]
        if make is not None:
            # by name, where Gomill's takes them in order
            values = {**values, "make_candidate": lambda **named: make(*named.values())}
        super().__init__(code, {**values, "player": self._tuned_code})
        self._limit = limit_of(values, "number_of_games")

    @property
    def _tuned_code(self) -> str:
        player: str | None = self._given["player"]
        return CANDIDATE if player is None else player

    def _tuned_player(self) -> PlayerDefinition:
        make, player = self._given["make_candidate"], self._given["player"]
        if make is None and player is None:
            text = "'make_candidate' is missing"
            expected = "a function that returns a Player, or `player` for one with options"
            raise SettingError(("make_candidate",), text, expected)
        if make is not None and player is not None:
            raise SettingError(("player",), "player and make_candidate exclude each other")
        if player is None:
            return PlayerDefinition({})
        return find_player(self._given, player, ("player",))

    @property
    def _candidate(self) -> str:
        """The code of candidates, or its beginning: the player may be an opponent, too."""
        player = self._tuned_code
        return player if player == CANDIDATE else f"{player}:{CANDIDATE}"

    def _wrong_settings(self) -> Iterator[SettingError]:
        yield from check_codes(self.declared)
        if self._candidate in self.opponents:
            text = f"{self._candidate!r} is the code of the candidates"
            yield SettingError(("opponent",), text, "another code for this player")

    def _warnings(self) -> list[str]:
        lines = super()._warnings()
        if is_endless(self.values, "number_of_games"):
            lines.append(endless_warning("number_of_games"))
        return lines

    def _wants(self, number: int) -> bool:
        """Return whether the setting `number_of_games` allows the game with this number."""
        return self._limit is None or number < self._limit

    @abstractmethod
    def _suffix(self, ticket: Ticket) -> str:
        """Return the end of the code of a ticket's candidate."""

    @abstractmethod
    def _game_number(self, ticket: Ticket) -> int:
        """Return a game's number in the tune, which determines opening and colour."""

    def _sides(self, ticket: Ticket) -> tuple[str, str]:
        sides = self._suffix(ticket), OPPONENT
        return sides[::-1] if ticket["s"] else sides

    def _opening(self, ticket: Ticket) -> int:
        return self._opening_of(self._game_number(ticket))

    def _opening_of(self, number: int) -> int:
        return number // 2 if self.values["candidate_colour"] == "alternating" else number


class GomillTune(CandidateTune):
    """Base of Gomill's tuners: a fixed opponent, and engine parameters of any type."""

    has_closing_match = False
    #: Candidates play again and again.
    cached_players = 2000
    runs_ahead_from = None

    parameters: tuple[CandidateParameter, ...]

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        (self.opponent,) = self.opponents.values()

    @property
    def _tuned_code(self) -> str:
        return CANDIDATE

    def _tuned_player(self) -> PlayerDefinition:
        definition = super()._tuned_player()
        player = self._given["player"]
        if player and make_player(self._given, player, ("player",)).protocol == "gtp":
            text = "GTP has no options that parameters could be"
            expected = "a make_candidate function that returns a Player"
            raise SettingError(("player",), text, expected)
        return definition

    def _contestant_of(self, code: str) -> str:
        is_candidate = code.startswith(CANDIDATE) and code != self.opponent.code
        return CANDIDATE if is_candidate else code

    # values and players

    def _by_code(self, point: Sequence[float]) -> ValuesByCode:
        return {p.code: value for p, value in zip(self.parameters, point, strict=True)}

    @abstractmethod
    def _probes(self, index: int) -> Sequence[float]:
        """Return optimiser parameters that may occur, ascending; a bounded number."""

    def _function_failures(self) -> list[SettingError]:
        columns = [self._probes(i) for i, _ in enumerate(self.parameters)]
        return self._binding.failures_between(columns=columns)

    def engine_values(self, values: ValuesByCode) -> dict[str, Any]:
        """Return engine parameters, with `FailedValue` for failing functions."""
        return {
            p.code: self._delivered_value(i, values[p.code]) for i, p in enumerate(self.parameters)
        }

    def formatted(self, engine: Mapping[str, Any]) -> str:
        """Return engine parameters for reports: "I: 0.01; F: 365.17"."""
        texts = []
        for p in self.parameters:
            try:
                texts.append(p.text(engine[p.code]))
            except Exception:  # the type may differ from value to value
                texts.append(f"[{p.code}?{shown(engine[p.code])}]")
        return "; ".join(texts)

    def row(self, code: str, engine: Mapping[str, Any]) -> dict[str, Any]:
        """Return the cells of `CANDIDATE_COLUMNS`."""
        return {"candidate": code, "parameters": as_data(engine), "text": self.formatted(engine)}

    def brief(self, engine: Mapping[str, Any]) -> str:
        """Return engine parameters for a verdict, only their number if they are many."""
        rounded = {
            p.code: float(f"{value:.4g}") if isinstance(value, float) and not p.format else value
            for p, value in zip(self.parameters, engine.values(), strict=True)
        }
        text = self.formatted(rounded)
        return text if len(text) <= BRIEF else counted(len(engine), "parameter value")

    def _candidate_checks(self, samples: Mapping[str, ValuesByCode]) -> list[CheckJob]:
        # messages then show the values
        codes = [f"{CANDIDATE} {self.formatted(self.engine_values(v))}" for v in samples.values()]
        return [
            msgspec.structs.replace(job, player=msgspec.structs.replace(job.player, code=code))
            for code, job in zip(codes, super()._candidate_checks(samples), strict=True)
        ]

    # games

    def _own_code(self, ticket: Ticket) -> str:
        return CANDIDATE

    def shown_values(self, values: ValuesByCode) -> dict[str, Any]:
        return as_data(self.engine_values(values))

    def _text_of(self, values: ValuesByCode) -> str:
        return self.formatted(self.engine_values(values))

    def _warnings(self) -> list[str]:
        lines = super()._warnings()
        if self.book.lacks_openings():
            return lines
        colours = 1 if self.values["candidate_colour"] in ("b", "w") else 2
        # one candidate of an mc_tuner may play nearly all games
        most = self.values.get("batch_size", self._limit)
        line = expected_repeats(
            self._reported_players(), self.book.size, most, colours, " of a candidate"
        )
        return [*lines, line] if line else lines

    # results

    @property
    def tally(self) -> Tally:
        """The games of all candidates, which are the first player."""
        players = CANDIDATE, self.opponent.code
        return next(iter(self._own_tallies()), Tally(players))


def as_data(engine: Mapping[str, Any]) -> dict[str, Any]:
    """Return engine parameters, which may be of any type, as JSON data."""
    known = {c: None if isinstance(v, FailedValue) else v for c, v in engine.items()}
    data: dict[str, Any] = canonical(known)
    return data
