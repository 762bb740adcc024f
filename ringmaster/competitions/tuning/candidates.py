"""The common base of mc_tuner and ce_tuner: candidates play against a fixed opponent."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.common_settings import (
    COMMON_SETTINGS,
    PLAYER,
    PlayerDefinition,
    noting,
)
from ringmaster.competitions.competition import (
    Competition,
    Contestant,
    Played,
    PlayedValue,
    Setup,
    Summary,
    TunedOptions,
    game_job,
)
from ringmaster.competitions.game_settings import GAME_SETTINGS, make_game_settings
from ringmaster.competitions.opening_settings import SAME_GAMES_OF_TUNE, OpeningBook
from ringmaster.competitions.result_lines import expected_repeats, result_line, result_reason
from ringmaster.competitions.setting_types import optional
from ringmaster.competitions.tally import Tally, doubts_of, tally_of, void_of
from ringmaster.competitions.tournaments.matchup_report import describe_settings, fault_notes
from ringmaster.competitions.tuning.function_probes import call, combinations, fill, player_made_by
from ringmaster.competitions.tuning.opponents import make_player
from ringmaster.competitions.tuning.parameter_binding import tuned_options
from ringmaster.competitions.tuning.parameter_settings import duplicates
from ringmaster.errors import SettingError, SettingErrors, counted, shown
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import CheckJob, GameJob, Ticket
from ringmaster.model.players import GameName, Player
from ringmaster.model.randomness import COLOUR_STREAM, words
from ringmaster.model.report import Progress, Report, Text
from ringmaster.model.results import GameResult
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

#: Game settings that results under other values cannot be compared with.
_CONDITIONS = ("board_size", "komi", "handicap", "handicap_style", "variant")

#: Settings of a tune's games; the optimum depends on some of them.
TUNE_GAME_SETTINGS: tuple[Setting, ...] = tuple(
    msgspec.structs.replace(s, change="refused") if s.name in _CONDITIONS else s
    for s in GAME_SETTINGS
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
            "a function that takes one value for each parameter and returns a Player",
            result=PLAYER,
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


def _identity(value: float) -> float:
    return value


class CandidateParameter(msgspec.Struct, frozen=True, kw_only=True):
    """A Parameter(…) of a control file, with the arguments of `PARAMETER_ARGUMENTS`."""

    #: Its argument with the function.
    function_name: ClassVar[str]

    code: str
    format: str | None
    option: str | None

    @property
    def function(self) -> Callable[[float], Any]:
        """The function from an optimiser parameter to an engine parameter."""
        function: Callable[[float], Any] | None = getattr(self, self.function_name)
        return function or _identity


def candidate_seat(values: Mapping[str, Any], number: int) -> int:
    """Return the candidate's place in game `number`: 0 if it moves first."""
    colour = values["candidate_colour"]
    if colour == "alternating":
        return number % 2
    if colour == "random":
        return words(values["seed"], COLOUR_STREAM, number, 1)[0] % 2
    return 0 if colour == _FIRST[values["game"]] else 1


def check_maker(make: Callable[..., Any] | None, player: str | None) -> None:
    """Raise SettingError unless there is either a make_candidate function or a player."""
    if make is None and player is None:
        raise SettingError(
            ("make_candidate",),
            "'make_candidate' is missing",
            "a function that returns a Player, or `player` for one with options",
        )
    if make is not None and player is not None:
        raise SettingError(("player",), "player and make_candidate exclude each other")


Values = tuple[Any, ...]


class Failed(msgspec.Struct, frozen=True):
    """Stands for an engine parameter with a failing function.

    at  the optimiser parameter
    """

    at: float


class CandidateState(msgspec.Struct, kw_only=True):
    """The state that both tuners have.

    tallies   games by their players; all candidates are one player
    codes     of the parameters
    opponent  name that the opponent's engine reports
    """

    codes: list[str]
    tallies: dict[str, Tally] = {}
    opponent: str = ""


class CandidateTuner(Competition):
    """A tune with candidates; subclasses choose the candidates and learn from results."""

    charts_read_usage = False

    parameters: tuple[CandidateParameter, ...]
    _state: CandidateState
    #: A typical candidate, for reports and warnings.
    _specimen: Player
    #: Whether the type requires games without draws.
    no_draws: ClassVar[bool] = False

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._game: GameName = values["game"]
        self.parameters = values["parameters"]
        errors: list[SettingError] = []
        with noting(errors):
            self.settings = make_game_settings(self._game, values)
            if self.no_draws and self._game == "go" and self.settings.komi % 1 == 0:
                raise SettingError(
                    ("komi",),
                    f"{self.settings.komi:g} is a whole number, so games may end in jigo",
                    "a fractional number such as 7.5",
                )
        with noting(errors):
            self.opponent = make_player(values, values["opponent"], ("opponent",))
        with noting(errors):
            player = values["player"]
            check_maker(values["make_candidate"], player)
            if player is not None and make_player(values, player, ("player",)).protocol == "gtp":
                raise SettingError(
                    ("player",),
                    "GTP has no options that parameters could be",
                    "a make_candidate function that returns a Player",
                )
        errors += duplicates([p.code for p in self.parameters])
        for i, _ in enumerate(self.parameters):
            with noting(errors):
                self._check_parameter(i, self._sample(i))
        if errors:
            raise SettingErrors(errors)
        self.book = OpeningBook(values["openings"], self._game, values["seed"], values["variant"])

    @abstractmethod
    def _sample(self, index: int) -> float:
        """Return a typical optimiser parameter, to probe a parameter's functions."""

    def _check_parameter(self, index: int, value: float) -> None:
        """Raise SettingError when a function or format fails at an optimiser parameter."""
        engine_value, template = self._engine_value(index, value), self._format(index)
        try:
            _ = fill(template, engine_value)
        except Exception as error:  # from the __str__ of any type
            raise SettingError(
                ("parameters", index, "format"),
                f"{template!r} cannot show {shown(engine_value)}: {error}",
                "a text with one conversion such as %s or %.2f, or with one for each item of a "
                "tuple",
            ) from None

    @abstractmethod
    def _probes(self, index: int) -> list[float]:
        """Return optimiser parameters that may occur later, ascending; a bounded number."""

    def _function_failures(self) -> list[SettingError]:
        errors: list[SettingError] = []
        columns = [self._probes(i) for i, _ in enumerate(self.parameters)]
        for i, column in enumerate(columns):
            with noting(errors):
                for value in column:
                    self._check_parameter(i, value)
        if errors:
            return errors
        middle = [self._sample(i) for i, _ in enumerate(self.parameters)]
        with noting(errors):
            for point in combinations(middle, columns):
                self.candidate("candidate", self.engine_values(point))
        return errors

    @abstractmethod
    def _point(self, ticket: Ticket) -> Sequence[float]:
        """Return the optimiser parameters of a ticket's candidate."""

    def played_values(self, ticket: Ticket) -> Sequence[PlayedValue]:
        return [
            PlayedValue(
                ("parameters", i, parameter.function_name),
                argument,
                value,
                functools.partial(self._engine_value, i, argument),
            )
            for i, (parameter, argument, value) in enumerate(
                zip(self.parameters, self._point(ticket), ticket["v"], strict=True)
            )
        ]

    def _format(self, index: int) -> str:
        parameter = self.parameters[index]
        if parameter.format is not None:
            return parameter.format
        return parameter.code.replace("%", "%%") + ": %s"

    def _engine_value(self, index: int, value: float) -> Any:
        parameter = self.parameters[index]
        path = ("parameters", index, parameter.function_name)
        return call(parameter.function, value, path, parameter.code)

    def engine_values(self, optimiser: Sequence[float]) -> Values:
        """Return engine parameters.

        Raises SettingError when a function of the control file fails.
        """
        return tuple(self._engine_value(i, value) for i, value in enumerate(optimiser))

    def values_to_show(self, optimiser: Sequence[float]) -> Values:
        """Return engine parameters, with `Failed` for failing functions."""
        values = []
        for i, value in enumerate(optimiser):
            try:
                values.append(self._engine_value(i, value))
            except SettingError:
                values.append(Failed(value))
        return tuple(values)

    def formatted(self, values: Values) -> str:
        """Return engine parameters for reports: "I: 0.01; F: 365.17"."""
        texts = []
        for i, value in enumerate(values):
            parameter = self.parameters[i]
            if isinstance(value, Failed):
                texts.append(f"[{parameter.code}: {parameter.function_name} fails at {value.at:g}]")
                continue
            try:
                texts.append(fill(self._format(i), value))
            except Exception:  # the type may differ from value to value
                texts.append(f"[{parameter.code}?{shown(value)}]")
        return "; ".join(texts)

    def brief(self, values: Values) -> str:
        """Return engine parameters for a verdict, only their number if they are many."""
        rounded = (
            float(f"{v:.4g}") if isinstance(v, float) and p.format is None else v
            for p, v in zip(self.parameters, values, strict=True)
        )
        text = self.formatted(tuple(rounded))
        return text if len(text) <= BRIEF else counted(len(values), "parameter value")

    def named(self, values: Values) -> dict[str, Any]:
        """Return engine parameters as JSON data by code, None for failing functions."""
        return {
            p.code: None if isinstance(v, Failed) else as_data(v)
            for p, v in zip(self.parameters, values, strict=True)
        }

    def candidate(self, code: str, values: Values) -> Player:
        """Return the player with these engine parameters.

        Raises SettingError when the values do not make a player.
        """
        make: Callable[..., PlayerDefinition] | None = self.values["make_candidate"]
        if make is not None:
            return player_made_by(lambda: make(*values), code, self.values)
        player = make_player(self.values, self.values["player"], ("player",))
        options = {p.option or p.code: v for p, v in zip(self.parameters, values, strict=True)}
        for i, (name, value) in enumerate(options.items()):
            if not isinstance(value, bool | int | float | str):
                raise SettingError(
                    ("parameters", i), f"{shown(value)} cannot be the value of option {name!r}"
                )
        return msgspec.structs.replace(player, code=code, options={**player.options, **options})

    # games

    def candidate_job(
        self,
        game_id: str,
        attempt: int,
        ticket: Ticket,
        number: int,
        candidate: tuple[Player, Values],
    ) -> GameJob:
        """Return the job of a candidate's game.

        number  number of the game in the tune
        """
        player, values = candidate
        seat = ticket["s"]
        named = self.named(values)
        text = self.formatted(values)
        alternating = self.values["candidate_colour"] == "alternating"
        opening = number // 2 if alternating else number
        return game_job(
            self,
            game_id,
            attempt,
            (player, self.opponent) if seat == 0 else (self.opponent, player),
            self.settings,
            # to compare with an edited function
            {**ticket, "v": [canonical(value) for value in values]},
            self.book.pick(opening),
            (named, {}) if seat == 0 else ({}, named),
            round=opening + 1,
            shown_parameters=(text, "") if seat == 0 else ("", text),
        )

    def played(self, ticket: Ticket, code: str, values: Values) -> Played:
        """Return a candidate's game for `describe`."""
        seat, named = ticket["s"], self.named(values)
        return Played(
            players=(code, self.opponent.code) if seat == 0 else (self.opponent.code, code),
            parameters=(named, {}) if seat == 0 else ({}, named),
            opening=ticket.get("o", ""),
        )

    def candidate_checks(self, samples: Sequence[Values]) -> list[CheckJob]:
        """Return startup checks of the opponent and of candidates."""
        by_name = {self._sample_name(values): values for values in samples}
        jobs = [
            CheckJob(f"check-{name}", self.candidate(name, values), self.settings)
            for name, values in by_name.items()
        ]
        return [CheckJob(f"check-{self.opponent.code}", self.opponent, self.settings), *jobs]

    def _sample_name(self, values: Values) -> str:
        return f"candidate {self.formatted(values)}"

    def options_between(self, base: Values, *ends: Values) -> TunedOptions:
        """Return the parameters as options.  Raises SettingError.

        base  values of a candidate of the startup checks
        ends  other values
        """
        changed = {
            parameter.code: [(*base[:i], end[i], *base[i + 1 :]) for end in ends]
            for i, parameter in enumerate(self.parameters)
        }
        make = functools.partial(self.candidate, "")
        return tuned_options(f"check-{self._sample_name(base)}", make, base, changed)

    def prepare(self) -> list[SettingError]:
        self.book.load()
        return self._function_failures()

    def setup(self) -> Setup:
        return Setup(
            self._check_jobs(),
            self._tuned_options(),
        )

    @abstractmethod
    def _check_jobs(self) -> list[CheckJob]:
        """Return the startup checks of the opponent and of some candidates."""

    @abstractmethod
    def _tuned_options(self) -> TunedOptions | None:
        """Return the parameters as engine options."""

    def _warnings(self) -> list[str]:
        if self.book.lacks_openings:
            return [SAME_GAMES_OF_TUNE]
        colours = 1 if self.values["candidate_colour"] in ("b", "w") else 2
        both, most = (self._specimen, self.opponent), self._most_games_of_candidate
        line = expected_repeats(both, self.book.size, most, colours, " of a candidate")
        return [line] if line else []

    @property
    @abstractmethod
    def _most_games_of_candidate(self) -> int | None:
        """Most games of one candidate; None for no limit."""

    def count_game(self, result: GameResult, seat: int, candidate: str) -> tuple[str, str]:
        """Count a game, void or not.

        Return a line for a void game, and the reason to end the run.
        """
        opponent = self.opponent.code
        # all candidates are one engine
        both = (self._specimen.code, opponent)
        tally_of(self._state.tallies, both).record_result(result, seat, None)
        halt = self._faults_halt(result, both if seat == 0 else both[::-1])
        if result.outcome != "void":
            self._state.opponent = result.usage[1 - seat].name or self._state.opponent
        players = (candidate, opponent) if seat == 0 else (opponent, candidate)
        return result_line(result, players), halt

    def outcome_line(self, result: GameResult, seat: int, candidate: str) -> str:
        """Return a game's line for the display and the history."""
        if result.winner is not None:
            verb = "won" if result.winner == seat else "lost"
        else:
            verb = "drew" if result.outcome == "draw" else "no result"
        reason = result_reason(result)
        return f"game {result.game_id}: {candidate} {verb} {result.score}{reason}"

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = msgspec.to_builtins(self._state)
        return state

    def _contestant_of(self, code: str) -> str:
        return code if code == self.opponent.code else self._specimen.code

    def summary(self, *, live: bool = False) -> Summary:
        tallies = self._state.tallies.values()
        void, void_kinds = void_of(tallies)
        return Summary(
            result=self._verdict(),
            progress=self._progress(),
            games=self._games,
            void=void,
            void_kinds=void_kinds,
            contestant_of=self._contestant_of,
            doubts=doubts_of(tallies),
            contestants=(Contestant(self._specimen), Contestant(self.opponent)),
            openings={"": self.book.describe()},
            report=self._live_report() if live else self._full_report(),
            warnings=[] if live else self._warnings(),
            data=self._json_data,
        )

    @property
    @abstractmethod
    def _games(self) -> int:
        """Number of counted games."""

    @abstractmethod
    def _verdict(self) -> str:
        """Return the result so far in one sentence."""

    @abstractmethod
    def _progress(self) -> Progress:
        """Return the progress of the tune."""

    @abstractmethod
    def _full_report(self) -> Report:
        """Return the report."""

    @abstractmethod
    def _live_report(self) -> Report:
        """Return the shorter form for the live display."""

    @abstractmethod
    def _json_data(self) -> dict[str, Any]:
        """Return the keys of `show --json`."""

    def conditions(self) -> Text:
        """Return the report's lines on the conditions of the counted games."""
        name = f" ({self._state.opponent})" if self._state.opponent else ""
        lines = [describe_settings(self.settings), f"opponent: {self.opponent.code}{name}"]
        faults = [line for tally in self._state.tallies.values() for line in fault_notes(tally)]
        return Text(tuple(filter(None, [*lines, *faults])))


def as_data(value: Any) -> Any:
    """Return an engine parameter, which may be of any type, as JSON data."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return [as_data(item) for item in value]
    if isinstance(value, Mapping):
        return {str(k): as_data(v) for k, v in value.items()}
    return str(value)
