"""The common bases of tunes of one player: `Tune` with the player and the closing match,
and `GameTune` for spsa, clop_tuner and optuna_tuner, which learn from games."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.common_settings import (
    COMMON_SETTINGS,
    PLAYER,
    PlayerDefinition,
    find_player,
    noting,
)
from ringmaster.competitions.competition import (
    Competition,
    Contestant,
    History,
    Played,
    PlayedValue,
    Reaction,
    Setup,
    Summary,
    Trajectory,
    TunedOptions,
    game_job,
    referees,
)
from ringmaster.competitions.game_settings import GAME_SETTINGS, make_game_settings
from ringmaster.competitions.opening_settings import SAME_GAMES_OF_TUNE, OpeningBook
from ringmaster.competitions.result_lines import result_line
from ringmaster.competitions.setting_types import optional
from ringmaster.competitions.tally import Tally, doubts_of, tally_of, void_of
from ringmaster.competitions.tournaments.matchup_charts import MatchupCourses
from ringmaster.competitions.tournaments.matchup_report import describe_settings, fault_notes
from ringmaster.competitions.tuning.chart_parts import closing_charts
from ringmaster.competitions.tuning.closing_match import ClosingMatches, Match, Standing
from ringmaster.competitions.tuning.closing_match_settings import DEFAULT, VERIFY, VerifySettings
from ringmaster.competitions.tuning.opponents import make_player, opponent_weights, weighted_cycle
from ringmaster.competitions.tuning.parameter_binding import FailedValue, ParameterBinding
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode
from ringmaster.competitions.verdicts import MatchResult, next_command
from ringmaster.errors import SettingError, SettingErrors
from ringmaster.model.jobs import CheckJob, GameSettings, Task, Ticket, is_of_closing_match
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import GameName, Player
from ringmaster.model.report import ChartGroup, Progress, Report, Table, Text
from ringmaster.model.results import GameResult
from ringmaster.model.settings import CallOf, Change, Function, Identifier, ListOf, Setting

#: Ends of the codes of the tuned player's sides, in the tune and the closing match.
_SIDES = ("", "+", "-", ":trial", ":candidate", ":tuned", ":start")

#: The side of an opponent in a game.
OPPONENT = "="

#: Game settings that results under other values cannot be compared with.
_CONDITIONS = (
    *("board_size", "komi", "handicap", "handicap_style", "rules", "variant"),
    "internal_scorer_handicap_compensation",
)

#: Settings of a tune's games; the optimum depends on some of them.
TUNE_GAME_SETTINGS: tuple[Setting, ...] = tuple(
    msgspec.structs.replace(s, change="refused") if s.name in _CONDITIONS else s
    for s in GAME_SETTINGS
)


def tune_settings(
    parameter: CallOf, *own: Setting, change: Change | None = None
) -> tuple[Setting, ...]:
    """Return the settings of a tune of one player, with those of its type.

    change  effect of a change of the parameters
    """
    parameters = ListOf(parameter, minimum=1)
    candidate = "a function that takes parameter values by name and returns a Player"
    return (
        *COMMON_SETTINGS,
        *TUNE_GAME_SETTINGS,
        Setting("player", Identifier(), "Code of the player to tune.", change="refused"),
        Setting("parameters", parameters, "The parameters to tune.", change=change),
        *own,
        optional(
            "make_candidate",
            Function(candidate, result=PLAYER),
            "Function that returns a player with parameter values; by default they are engine "
            "options.",
        ),
        optional("verify", VERIFY, "The closing match."),
    )


class Tune(Competition):
    """Base of the types that tune the parameters of one player.

    A type without `has_closing_match` never has any of the closing matches below.

    declared    parameters of the control file
    parameters  the declared ones that are used
    settings    settings of the games
    opponents   by player code; empty in self-play
    book        openings of the tune
    closing     closing matches
    """

    has_closing_match: ClassVar[bool] = True
    #: Players with new values for each game or two; each may have thousands of options.
    cached_players: ClassVar[int] = 16
    #: Reads the course of the tuned values from the history; None for a type without one.
    _course: Callable[[History], Trajectory] | None = None

    settings: GameSettings
    book: OpeningBook
    closing: ClosingMatches

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._game: GameName = values["game"]
        self.declared: tuple[TunedParameter, ...] = values["parameters"]
        self.parameters = tuple(p for p in self.declared if not p.not_used)
        #: Whether only the closing match is played (the action `verify`).
        self._verifying = False
        errors: list[SettingError] = []
        with noting(errors):
            self.settings = make_game_settings(self._game, values)
        with noting(errors):
            self._definition = self._tuned_player()
        self._weights = opponent_weights(values)
        self.opponents: dict[str, Player] = {}
        with noting(errors):
            self.opponents = {c: make_player(values, c, ("opponent",)) for c in self._weights}
        errors += self._wrong_settings()
        if errors:
            raise SettingErrors(errors)

    def _tuned_player(self) -> PlayerDefinition:
        """Return the definition of the tuned player.  Raises SettingError."""
        return find_player(self.values, self.values["player"], ("player",))

    @abstractmethod
    def _wrong_settings(self) -> Iterable[SettingError]:
        """Return errors of the other settings, before the tune is built."""

    def _set_player(self, counted: str, default_match: VerifySettings = DEFAULT) -> None:
        """Set the tuned player.

        counted        unit of the tune: iterations, passes
        default_match  settings of a closing match without Verify(…)
        Raises SettingError, SettingErrors for a wrong player or closing match.
        """
        values = self.values
        self._binding = ParameterBinding(
            self.declared, values, self._definition, self.cached_players
        )
        self.book = OpeningBook(values["openings"], self.settings, values["seed"])
        # fails before the first job
        self._binding.player("", self.start_values)
        self.closing = ClosingMatches(self, self._binding.player, counted, default_match)

    def prepare(self) -> list[SettingError]:
        self.unverified += self.book.load(self.say)
        self.unverified += self.closing.prepare(self.say)
        return self._function_failures()

    # values and players

    def shown_values(self, values: ValuesByCode) -> dict[str, Any]:
        """Return played values for reports and records."""
        return dict(values)

    @property
    def start_values(self) -> ValuesByCode:
        return {p.code: p.played_value(p.start) for p in self.parameters}

    @abstractmethod
    def estimated(self) -> ValuesByCode:
        """Return the present estimate of all parameters, as played."""

    def setup(self) -> Setup:
        return Setup(self._check_jobs(), self._tuned_options(), self._notices())

    def _check_jobs(self) -> list[CheckJob]:
        """Return the startup checks."""
        if self._verifying:
            return self.closing.check_jobs(self._standing())
        opponents = [
            CheckJob(f"check-{code}", player, self.settings)
            for code, player in self.opponents.items()
        ]
        of_match = [job for job in self.closing.check_jobs(None) if job not in opponents]
        return [*opponents, *self._candidate_checks(self._samples_to_check()), *of_match]

    @abstractmethod
    def _samples_to_check(self) -> Mapping[str, ValuesByCode]:
        """Return values for the startup checks of the tuned player, by the name of the check.

        An engine that refuses a value there would make games void later.
        """

    def _tuned_options(self) -> TunedOptions | None:
        """Return the parameters as engine options, None where the tune tests them itself."""
        return None

    @abstractmethod
    def _warnings(self) -> list[str]:
        """Return warnings about doubtful settings."""

    def _notices(self) -> list[str]:
        return self.closing.notices(self._standing())

    def _function_failures(self) -> list[SettingError]:
        return self._binding.failures_between()

    def _delivered_value(self, index: int, value: float) -> Any:
        """Return the engine value of `parameters[index]`, a `FailedValue` if its function fails."""
        parameter = self.parameters[index]
        place = self.declared.index(parameter)
        try:
            return self._binding.value(place, parameter.played_value(value))
        except SettingError as error:
            return FailedValue(f"[{error.path[-1]} fails at {value:g}]")

    def _candidate_checks(self, samples: Mapping[str, ValuesByCode]) -> list[CheckJob]:
        """Return startup checks of the player with values, by the name of the check."""
        return [
            CheckJob(self._check_id(name), self._binding.player("", values), self.settings)
            for name, values in samples.items()
        ]

    def _reported_players(self) -> list[Player]:
        tuned = self._binding.player("", self.start_values)
        players = (tuned, *self.closing.opponents(), *self.opponents.values())
        return list({player.code: player for player in players}.values())

    def _openings_used(self) -> dict[str, dict[str, Any]]:
        own = self.closing.openings()
        if own is None:
            return {"": self.book.describe()}
        return {"the tune": self.book.describe(), "the closing match": own}

    def _check_id(self, sample: str) -> str:
        return f"check-{self.values['player']}-{sample}"

    # the closing match

    @property
    @abstractmethod
    def is_tuned(self) -> bool:
        """Return whether the tune is complete, without its closing match."""

    def _standing(self) -> Standing:
        """Return the progress of the tune for the closing match."""
        return Standing(0, {}, 0, due=False)

    @property
    def _due(self) -> bool:
        """Return whether to play a closing match now: by `verify`, or after a complete tune."""
        return self._verifying or (self.closing.settings is not None and self.is_tuned)

    @property
    def _can_play(self) -> bool:
        """Return whether the players' moves are limited, so that a closing match can be played."""
        return True

    def verify(self, games: int | None = None) -> None:
        """Play only a closing match of the tuned values in this run; called before `restore`.

        games  most games, None for the number in the settings
        Raises UsageError.
        """
        self._verifying = True
        self.closing.request(games)

    def _ending(self) -> str:
        if not self._verifying:
            return "competition complete"
        nothing = self.closing.nothing(self._standing())
        return "nothing to verify" if nothing else "closing match complete"

    def finished(self) -> bool:
        standing = self._standing()
        return self.closing.complete(standing) if standing.due else self.is_tuned

    def summary(self, *, live: bool = False) -> Summary:
        tallies = [*self._own_tallies(), *(match.tally for match in self.closing.matches)]
        return Summary(
            result=self._verdict(),
            progress=self._progress(),
            games=self._games + self.closing.completed,
            void_kinds=void_of(tallies, self._contestant_of),
            contestants=tuple(self._contestants()),
            contestant_of=self._contestant_of,
            doubts=doubts_of(tallies, self._contestant_of),
            openings=self._openings_used(),
            matchups=tuple(self.closing.infos(self._standing())),
            ending=self._ending(),
            report=Report(tuple(self._all_blocks(live=live))),
            warnings=[] if live else self._warnings(),
            data=self._json_data,
            trajectory=self._course,
        )

    @property
    def _games(self) -> int:
        """Number of games of the tune that count."""
        return sum(tally.completed for tally in self._own_tallies())

    def _own_tallies(self) -> Iterable[Tally]:
        return ()

    def _contestants(self) -> Iterator[Contestant]:
        controls = self.values.get("time_controls") or {}
        players = self._reported_players()
        for player in players:
            has_several = str(player.time_control) in controls
            yield Contestant(player, clock=" or ".join(controls) if has_several else "")
        yield from referees([self.settings], [player.code for player in players])

    def _contestant_of(self, code: str) -> str:
        player: str = self.values["player"]
        own = code.startswith(player) and code[len(player) :] in _SIDES
        return player if own else code

    @abstractmethod
    def _progress(self) -> Progress:
        """Return the progress of the tune and its closing match."""

    @abstractmethod
    def _all_blocks(self, *, live: bool) -> Iterable[Table | Text]:
        """Return the blocks of the report, or the shorter ones of the live display."""

    def _verdict(self) -> str:
        standing = self._standing()
        state = f"{'Tuned' if self.is_tuned else 'Tuning'}: {self._work_done()}"
        matchup = self.closing.current(standing)
        if matchup is not None and matchup.tally.completed:
            return self._match_verdict(matchup.match_result())
        if self.is_tuned and self.estimated() == self.start_values:
            return f"{state}; the start values stay"
        if standing.due and self.closing.nothing(standing):
            return f"{state}; the start values so far"
        if standing.due:
            return f"{state}; no game of the closing match yet"
        if not self.is_tuned:
            return f"{state}; gain not measured yet"
        following = next_command(self.code, "verify") if self._can_play else ""
        return f"{state}; gain not measured{following}"

    def _match_verdict(self, match: MatchResult) -> str:
        against = "start" if self.closing.against_start else match.players[1]
        head = "Tuned" if self.is_tuned else "Tuned so far"
        estimate = match.estimate
        if estimate is None or not estimate.is_telling:
            score = f"{match.score} against {against}, {match.when}"
            is_short = match.finished and self.closing.against_start
            more = next_command(self.code, f"verify --games {2 * match.games}") if is_short else ""
            return f"{head}; closing match {score}; no Elo interval{more}"
        if not match.finished:
            state = "closing match" if match.sign else "closing match not decided yet"
            return f"{head}; {state}: {estimate}, over {against}, {match.when}"
        elo = f"{estimate.interval(' Elo')} over {against}"
        if not self.closing.against_start:
            return f"{head}: {elo}, {match.when}; gain over start not measured"
        if match.sign > 0:
            return f"{head}: {elo}{next_command(self.code, 'export-parameters')}"
        if match.sign < 0:
            return f"{head}, but weaker: {elo}, {match.when}; keep the start values"
        more = "" if match.decided else next_command(self.code, f"verify --games {2 * match.games}")
        return f"{head}, but no gain shown: {elo}, {match.when}{more}"

    @abstractmethod
    def _work_done(self) -> str:
        """Return the progress of the tune for a verdict: "iteration 120 of 600, 960 games"."""

    def charts(self, history: History) -> list[ChartGroup]:
        matches = MatchupCourses(self.closing.infos(self._standing()))
        for ticket, result in history:
            if is_of_closing_match(ticket):
                played = self.closing.describe(ticket)
                matches.record_result(played.matchup, played.players[0], played.pair, result)
        return [*self._charts_of_tune(), *closing_charts(matches)]

    def _charts_of_tune(self) -> list[ChartGroup]:
        """Return the charts of the tune's state, which need no recorded games."""
        return []

    def _json_data(self) -> dict[str, Any]:
        summary = self._summary_of_tune()
        if self.closing.matches:
            summary["matchups"] = self.closing.summaries(self._standing())
        return summary

    @abstractmethod
    def _summary_of_tune(self) -> dict[str, Any]:
        """Return the summary without the closing match."""

    # issuing

    @abstractmethod
    def _register_of_tune(self, ticket: Ticket) -> bool:
        """Register an issued ticket of the tune; idempotent.  Return whether its result is
        expected."""

    def apply_edits(self, outstanding: Sequence[Ticket]) -> list[str]:
        for ticket in outstanding:
            if not is_of_closing_match(ticket):
                self._register_of_tune(ticket)
        return []

    def resume(self, ticket: Ticket) -> bool:
        if is_of_closing_match(ticket):
            return self.closing.resume(ticket, self._standing())
        return self._register_of_tune(ticket) and not self._verifying

    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> Task:
        if not is_of_closing_match(ticket):
            return self._job_of_tune(game_id, attempt, ticket)
        played = self.closing.describe(ticket)
        return game_job(
            self,
            game_id,
            attempt,
            self.closing.players(ticket),
            self.settings,
            ticket,
            self.closing.opening(ticket),
            played.parameters,
            round=ticket["g"] // 2 + 1,
            series=played.matchup,
        )

    @abstractmethod
    def _job_of_tune(self, game_id: str, attempt: int, ticket: Ticket) -> Task:
        """Return a job of the tune, as `make_job` does."""

    def describe(self, ticket: Ticket) -> Played:
        if is_of_closing_match(ticket):
            return self.closing.describe(ticket)
        return self._describe_of_tune(ticket)

    @abstractmethod
    def _describe_of_tune(self, ticket: Ticket) -> Played:
        """Describe a job of the tune, as `describe` does."""

    def record_result(self, ticket: Ticket, result: Any) -> Reaction:
        if is_of_closing_match(ticket):
            reaction = self.closing.record_result(ticket, result, self._standing())
            codes = list(map(self._contestant_of, self.closing.describe(ticket).players))
            return msgspec.structs.replace(reaction, halt=self._faults_halt(result, codes))
        return self._record_of_tune(ticket, result)

    @abstractmethod
    def _record_of_tune(self, ticket: Ticket, result: Any) -> Reaction:
        """Record a result of the tune, as `record_result` does."""

    def _issue(self, job_id: str, ticket: Ticket) -> Task:
        """Return a job and count it as issued, unless a function of the control file fails."""
        job = self.make_job(job_id, 0, ticket)
        if is_of_closing_match(ticket):
            self.closing.count(ticket, self._standing())
        else:
            self._register_of_tune(ticket)
        return job

    def _match_game(self) -> Task | None:
        """Return the next game of a closing match that is due, else None."""
        standing = self._standing()
        following = self.closing.next_game(standing) if standing.due else None
        return None if following is None else self._issue(*following)


class GameTuneState(msgspec.Struct, kw_only=True):
    """The part of the state that all these types have.

    tallies  games of the tune by its two players and time control, as `tally_of` does
    matches  closing matches
    """

    tallies: dict[str, Tally] = {}
    matches: list[Match] = []


class GameTune(Tune):
    """Base of the types that learn from games, in self-play or against opponents."""

    charts_read_usage = False
    #: Whether the functions of parameters must give the values that were played.
    functions_stay: ClassVar[bool] = True
    # Values depend on the results that exist when they are chosen, so games that are
    # played one at a time are also issued one at a time.
    runs_ahead_from: int | None = 2

    _state: GameTuneState

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._opponent_cycle = weighted_cycle(self._weights)

    # before the games

    def _warnings(self) -> list[str]:
        lines = self.closing.warnings(self._standing())
        lacking = not self.closing.has_openings if self._verifying else self.book.lacks_openings()
        if lacking:
            lines.append(SAME_GAMES_OF_TUNE)
        return lines

    def _optional(self) -> Iterable[TunedParameter]:
        """Return the parameters whose options the startup test may change alone."""
        return [p for p in self.parameters if not p.frozen]

    def _tuned_options(self) -> TunedOptions | None:
        if self._verifying:
            return None
        start = self.start_values
        ends = {
            p.code: [
                {**start, p.code: p.played_value(end)}
                for end in sorted((p.minimum, p.maximum), key=lambda end: -abs(end - p.start))
            ]
            for p in self._optional()
        }
        return self._binding.tuned_options(self._check_id("start"), start, ends)

    # issuing games

    def _opponent(self, ticket: Ticket) -> str:
        """Return the code of a game's opponent; tickets have it if there are several."""
        return str(ticket.get("r", self._opponent_cycle[0]))

    @abstractmethod
    def _sides(self, ticket: Ticket) -> tuple[str, str]:
        """Return the ends of the codes of the tuned player's sides, OPPONENT for an opponent;
        the first mover first."""

    @abstractmethod
    def _side_values(self, ticket: Ticket, side: str) -> ValuesByCode:
        """Return the values of a side of the tuned player."""

    @abstractmethod
    def _opening(self, ticket: Ticket) -> int:
        """Return the number of a game's opening."""

    def _text_of(self, values: ValuesByCode) -> str:
        """Return the values of a side for records, "" for the values by code."""
        return ""

    def _codes(self, ticket: Ticket, own: str = "") -> tuple[str, str]:
        """Return the codes of a game's players, first mover first.

        own  instead of the code of the tuned player's side
        """
        first, second = (
            self._opponent(ticket) if side == OPPONENT else own or self._code_of(side)
            for side in self._sides(ticket)
        )
        return first, second

    def _code_of(self, side: str) -> str:
        return f"{self.values['player']}{side}"

    def _own_side(self, ticket: Ticket) -> str:
        """Return the side whose results count: "+" before "-", and no start values."""
        return min(side for side in self._sides(ticket) if side not in (OPPONENT, ":start"))

    def _own_code(self, ticket: Ticket) -> str:
        """Return the code of the tuned player in the tally of a game."""
        return self._code_of(self._own_side(ticket))

    def _job_of_tune(self, game_id: str, attempt: int, ticket: Ticket) -> Task:
        first, second = (self._side(ticket, side) for side in self._sides(ticket))
        opening = self._opening(ticket)
        if self.functions_stay:
            own = self._side_values(ticket, self._own_side(ticket))
            ticket = self._binding.with_transformed(ticket, own)
        return game_job(
            self,
            game_id,
            attempt,
            (first[0], second[0]),
            self.settings,
            ticket,
            self.book.pick(opening),
            (first[1], second[1]),
            round=opening + 1,
            shown_parameters=(first[2], second[2]),
        )

    def _side(self, ticket: Ticket, side: str) -> tuple[Player, dict[str, Any], str]:
        """Return the player of a side with its shown values and their text."""
        control = ticket.get("tc", "")
        if side == OPPONENT:
            return self.opponents[self._opponent(ticket)].at_time_control(control), {}, ""
        values = self._side_values(ticket, side)
        player = self._binding.player(side, values).at_time_control(control)
        return player, self.shown_values(values), self._text_of(values)

    def played_values(self, ticket: Ticket) -> Sequence[PlayedValue]:
        if is_of_closing_match(ticket) or not self.functions_stay:
            return ()
        values = self._side_values(ticket, self._own_side(ticket))
        return self._binding.played_values(ticket, values)

    def _described_values(self, ticket: Ticket, side: str) -> ValuesByCode:
        """Return the values of a side as they were when the game was issued."""
        return self._side_values(ticket, side)

    def _describe_of_tune(self, ticket: Ticket) -> Played:
        first, second = (
            {} if side == OPPONENT else self.shown_values(self._described_values(ticket, side))
            for side in self._sides(ticket)
        )
        return Played(
            players=self._codes(ticket), parameters=(first, second), opening=ticket.get("o", "")
        )

    # results

    def _own_tallies(self) -> Iterable[Tally]:
        return self._state.tallies.values()

    def _record_of_tune(self, ticket: Ticket, result: GameResult) -> Reaction:
        self._register_of_tune(ticket)
        line = self._line(ticket, result)
        codes = self._codes(ticket)
        seat = self._sides(ticket).index(self._own_side(ticket))
        pairing = self._own_code(ticket), codes[1 - seat]
        tally = tally_of(self._state.tallies, pairing, ticket.get("tc", ""))
        tally.record_result(result, seat, None)
        halt = self._faults_halt(result, list(map(self._contestant_of, codes)))
        if result.outcome == "void":
            return Reaction(line, replay=True, halt=halt)
        return msgspec.structs.replace(self._learn(ticket, result, line), halt=halt)

    def _line(self, ticket: Ticket, result: GameResult) -> str:
        return result_line(result, self._codes(ticket, self._name(ticket)))

    def _name(self, ticket: Ticket) -> str:
        """Return the tuned player's name in this line, "" for its code."""
        return ""

    @abstractmethod
    def _learn(self, ticket: Ticket, result: GameResult, line: str) -> Reaction:
        """Learn from a counted game."""

    # state

    def state(self) -> dict[str, Any]:
        self._state.matches = self.closing.matches
        state: dict[str, Any] = msgspec.to_builtins(self._state, str_keys=True)
        return state

    # reports

    def _progress_to(self, total: int | None, phase: str = "tuning") -> Progress:
        """Return the progress of the tune and its closing match.

        total  games of the tune to its end, None without a limit
        """
        standing = self._standing()
        played, wanted = self.closing.progress(standing)
        if self._verifying:
            return Progress(played, wanted, phase="closing match")
        before = self.closing.completed - played
        if not standing.due:
            # a match of the present values belongs to the earlier ones
            before, played = self.closing.completed, 0
            wanted = 0 if self.closing.settings is None else self.closing.settings.games
        return Progress(
            self._games + before + played,
            None if total is None else total + before + wanted,
            phase="closing match" if standing.due else phase,
        )

    def _all_blocks(self, *, live: bool) -> Iterable[Table | Text]:
        if live:
            return [*self._blocks(live=True), *self.closing.live_blocks(self._standing())]
        tallies = self._state.tallies
        faults = [
            line if len(tallies) == 1 else f"{pairing}: {line}"
            for pairing, tally in tallies.items()
            for line in fault_notes(tally)
        ]
        conditions = [describe_settings(self.settings), *faults]
        shown = tuple(filter(None, conditions))
        closing = self.closing.blocks(self._standing())
        return [*self._blocks(live=False), *closing, *([Text(shown)] if shown else [])]

    @abstractmethod
    def _blocks(self, *, live: bool) -> Iterable[Table | Text]:
        """Return these blocks on the tune, without its closing match."""
