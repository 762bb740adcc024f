"""Closing matches: games of a tune's estimate against its start values or a player.

A match ends when it is complete or the tune continues.  It then stays in the report, and
the next estimate has its own match.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ringmaster.competitions.common_settings import placed
from ringmaster.competitions.competition import MatchupInfo, Played, Reaction
from ringmaster.competitions.opening_settings import OpeningBook, check_openings
from ringmaster.competitions.result_lines import expected_repeats, result_line
from ringmaster.competitions.tally import Tally
from ringmaster.competitions.tournaments.matchup import Matchup
from ringmaster.competitions.tournaments.matchup_report import (
    live_table,
    matchup_data,
    matchup_table,
)
from ringmaster.competitions.tuning.closing_match_settings import START, VerifySettings, limited
from ringmaster.competitions.tuning.opponents import (
    make_player,
    results_data,
    results_text,
    weighted_cycle,
)
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, value_text
from ringmaster.errors import SettingError, UsageError
from ringmaster.model.jobs import CLOSING, CheckJob, Opening, Ticket
from ringmaster.model.players import Player
from ringmaster.model.report import Table, Text
from ringmaster.model.results import GameResult

if TYPE_CHECKING:
    from ringmaster.competitions.tuning.player_tune import Tune


class Match(msgspec.Struct):
    """A closing match.

    iteration  number of iterations (or passes) before the match
    tuned      tuned values
    start      start values; None against a player of the control file
    tally      results; its first player has the tuned values
    first      number of the first pair's opening in the book
    games      most games, by the latest settings
    conditions  of its games; other conditions make another match
    by_time_control  results once more, where there are several
    """

    iteration: int
    tuned: ValuesByCode
    start: ValuesByCode | None
    tally: Tally
    first: int = 0
    games: int = 0
    conditions: str = ""
    by_time_control: dict[str, Tally] = msgspec.field(default_factory=dict)

    def values(self, player: int) -> ValuesByCode:
        """Return the values of a player (0: tuned), {} for one of the control file."""
        return self.tuned if player == 0 else self.start or {}


NOTHING = "the tuned values are the start values: there is nothing to verify"


class Standing(msgspec.Struct, frozen=True):
    """The progress of a tune.

    iterations  completed iterations (or passes)
    values      the estimate, as played
    openings    number of openings of its book that the complete tune uses
    due         whether to play a match of these values now
    """

    iterations: int
    values: ValuesByCode
    openings: int
    due: bool


class ClosingMatches:
    """The closing matches of a tune; the last one may be in progress.

    settings  settings of the present match, None without one
    """

    def __init__(
        self,
        tune: Tune,
        candidate: Callable[[str, ValuesByCode], Player],
        counted: str,
        default: VerifySettings,
    ) -> None:
        """Raises SettingError for settings that do not make a match.

        candidate  returns the tuned player with a suffix of its code and parameter values
        counted    unit of `Standing.iterations`
        default    settings of a match that a user requests without Verify(…)
        """
        self._values, self._game, self._start = tune.values, tune.settings, tune.start_values
        self._candidate, self._counted, self._shown = candidate, counted, tune.shown_values
        self.settings: VerifySettings | None = tune.values.get("verify")
        self._default = self._mixed(default)
        if self.settings is not None:
            against = self.settings.against or default.against
            self.settings = self._mixed(msgspec.structs.replace(self.settings, against=against))
        self.matches: list[Match] = []
        #: The games of each match.
        self._matchups: list[Matchup] = []
        #: A separate book, None without one, and the book of the games.
        self._own_book = self._separate_book()
        self._book = self._own_book or tune.book
        if self.settings is not None:
            self._players(self._start)  # checks them

    def _mixed(self, settings: VerifySettings) -> VerifySettings:
        """Return settings with the tune's `time_controls`, and a pair for each, unless they have
        limits."""
        controls = {} if settings.limits else self._values.get("time_controls") or {}
        games = max(settings.games, 2 * len(controls))
        return msgspec.structs.replace(settings, games=games, time_controls=controls)

    def _separate_book(self) -> OpeningBook | None:
        openings = None if self.settings is None else self.settings.openings
        if openings is None:
            return None
        with placed("verify"):
            check_openings(openings, self._game.game, self._game.variant, self._game.handicap)
        return OpeningBook(openings, self._game, self._values["seed"])

    def request(self, games: int | None) -> None:
        """Request a match of `games`, None for the number in the settings.  Raises UsageError."""
        settings = self.settings or self._default
        if games is not None and games % 2:
            raise UsageError(f"{games} games are not a whole number of pairs; use an even number")
        if games is not None:
            settings = self._mixed(msgspec.structs.replace(settings, games=games))
        self.settings = settings

    def prepare(self, say: Callable[[str], None]) -> list[Iterator[int]]:
        """Load openings before the first game, as `OpeningBook.load` does."""
        if self.settings is not None and self.settings.sprt is not None:
            # imports scipy before any clock runs
            self.settings.sprt.llr([1, 1, 1])
        return self._book.load(say)

    # games

    @property
    def has_openings(self) -> bool:
        return not self._book.lacks_openings()

    def opponents(self) -> list[Player]:
        """Return the opponent from the control file, if any."""
        settings = self.settings
        if settings is None or settings.against == START:
            return []
        return [self._opponent(settings)]

    def openings(self) -> dict[str, Any] | None:
        """Describe the closing match's separate openings, None without any."""
        return None if self._own_book is None else self._own_book.describe()

    def check_jobs(self, standing: Standing | None) -> list[CheckJob]:
        """Return the startup checks.

        standing  progress of the tune, to check both sides; None for only the checks that
                  the tune omits: other limits, another player
        """
        settings, code = self.settings, self._values["player"]
        if settings is None:
            return []
        candidates = {}
        if standing is not None:
            candidates["tuned"] = standing.values
            if settings.against == START:
                candidates[START] = self._start
        elif settings.limits:
            candidates["closing match"] = self._start
        jobs = [
            CheckJob(f"check-{code}-{name}", limited(self._candidate("", v), settings), self._game)
            for name, v in candidates.items()
        ]
        opponents = [CheckJob(f"check-{p.code}", p, self._game) for p in self.opponents()]
        return jobs + opponents

    def _codes(self, against: str) -> tuple[str, str]:
        """Return the codes of both sides, the tuned one first."""
        code = self._values["player"]
        return f"{code}:tuned", f"{code}:{START}" if against == START else against

    def _players(self, tuned: ValuesByCode) -> tuple[Player, Player]:
        """Return both sides, the tuned one first.  Raises SettingError."""
        settings = self.settings or self._default
        first = limited(self._candidate(":tuned", tuned), settings)
        if settings.against != START:
            return first, self._opponent(settings)
        return first, limited(self._candidate(f":{START}", self._start), settings)

    def _opponent(self, settings: VerifySettings) -> Player:
        """Return the opponent from the control file.  Raises SettingError."""
        against, path = settings.against, ("verify", "against")
        if against == self._codes(START)[0]:
            raise SettingError(path, f"{against!r} is the code of the tuned side")
        return limited(make_player(self._values, against, path), settings)

    def players(self, ticket: Ticket) -> tuple[Player, Player]:
        """Return the players of a game, the first mover first."""
        players = self._players(self._match(ticket).tuned)
        first, second = (p.at_time_control(ticket.get("tc", "")) for p in players)
        return (second, first) if ticket["g"] % 2 else (first, second)

    def opening(self, ticket: Ticket) -> Opening:
        return self._book.pick(self._match(ticket).first + ticket["g"] // 2)

    def describe(self, ticket: Ticket) -> Played:
        match = self._match(ticket)
        first, second = (1, 0) if ticket["g"] % 2 else (0, 1)
        codes = match.tally.players
        return Played(
            players=(codes[first], codes[second]),
            matchup=_match_id(ticket["v"]),
            parameters=(self._shown(match.values(first)), self._shown(match.values(second))),
            opening=ticket.get("o", ""),
            pair=ticket["g"] // 2,
        )

    # matches and their games

    def _match(self, ticket: Ticket) -> Match:
        return self.matches[int(ticket["v"]) - 1]

    def nothing(self, standing: Standing) -> bool:
        """Return whether the tuned values are the start values."""
        settings = self.settings
        return (settings is None or settings.against == START) and standing.values == self._start

    def current(self, standing: Standing) -> Matchup | None:
        """Return the games of the present values and conditions; None without any.

        Where a match is due, the present settings are theirs.
        """
        if not self.matches:
            return None
        match, matchup, settings = self.matches[-1], self._matchups[-1], self.settings
        is_current = (
            match.iteration == standing.iterations
            and (match.start is None or _same(match.start, self._start))
            and _same(match.tuned, standing.values)
        )
        if is_current and settings is not None:
            codes = self._codes(settings.against)
            is_current = (match.conditions, matchup.codes) == (settings.conditions, codes)
        if is_current and settings is not None and standing.due:
            matchup.limit, matchup.test = settings.games, settings.sprt
        return matchup if is_current else None

    def _add(self, standing: Standing) -> Matchup:
        settings = self.settings or self._default
        codes = self._codes(settings.against)
        match = Match(
            iteration=standing.iterations,
            tuned=dict(standing.values),
            start=self._start if settings.against == START else None,
            tally=Tally(codes),
            first=0 if settings.openings is not None else standing.openings,
            games=settings.games,
            conditions=settings.conditions,
            by_time_control={c: Tally(codes) for c in settings.time_controls},
        )
        self.matches.append(match)
        matchup = self._append_matchup(match)
        if self.settings is not None:
            matchup.test = settings.sprt
            match.tally.trial = matchup.new_trial()
        return matchup

    def _append_matchup(self, match: Match) -> Matchup:
        tally = match.tally
        first, second = self._players(self._start)
        if match.by_time_control:
            first, second = (msgspec.structs.replace(p, time_control=None) for p in (first, second))
        # an earlier match may have had another opponent
        second = msgspec.structs.replace(second, code=tally.players[1])
        matchup = Matchup(
            id=_match_id(len(self._matchups) + 1),
            players=(first, second),
            settings=self._game,
            book=self._book,
            tally=tally,
            limit=match.games or None,
            alternating=True,
            test=None if tally.trial is None else tally.trial.test,
        )
        self._matchups.append(matchup)
        return matchup

    def next_game(self, standing: Standing) -> tuple[str, Ticket] | None:
        """Return id and ticket of the next game, None without one; `count` registers it."""
        matchup = self.current(standing)
        if matchup is None:
            if self.nothing(standing):
                return None
            matchup = self._add(standing)
        matchup.tally.trial = matchup.present_trial()
        self.matches[-1].games = matchup.limit or 0
        if not matchup.wants_more():
            return None
        number, game = len(self.matches), matchup.tally.next
        ticket = {"kind": CLOSING, "v": number, "g": game}
        controls = (self.settings or self._default).time_controls
        if controls:
            ticket["tc"] = _time_control_of_pair(controls, game // 2)
        return f"{matchup.id}_{game:04d}", ticket

    def count(self, ticket: Ticket, standing: Standing) -> Matchup:
        """Register an issued ticket, and return its match; idempotent."""
        while len(self.matches) < ticket["v"]:
            self._add(standing)
        matchup = self._matchups[int(ticket["v"]) - 1]
        matchup.tally.next = max(matchup.tally.next, ticket["g"] + 1)
        matchup.open.add(ticket["g"])
        return matchup

    def resume(self, ticket: Ticket, standing: Standing) -> bool:
        """Register an outstanding game, and return whether to play it.

        A match ends when the tune continues.
        """
        matchup = self.count(ticket, standing)
        if not standing.due or matchup is not self.current(standing):
            return False
        return matchup.wants(ticket["g"])

    def record_result(self, ticket: Ticket, result: GameResult, standing: Standing) -> Reaction:
        matchup = self.count(ticket, standing)
        tallies = [matchup.tally]
        if control := ticket.get("tc"):
            parts = self._match(ticket).by_time_control
            tallies.append(parts.setdefault(control, Tally(matchup.tally.players)))
        for tally in tallies:
            tally.record_result(result, ticket["g"] % 2, ticket["g"] // 2)
        line = result_line(result, self.describe(ticket).players)
        if result.outcome == "void":
            return Reaction(line, replay=True)
        matchup.open.discard(ticket["g"])
        self.current(standing)
        report = matchup.report() if matchup.judge() else None
        notes = [] if report is None else report.lines()
        if matchup.complete():
            notes.append(f"complete, {matchup.tally.estimate()}")
        lines = tuple(f"{matchup.id}: {note}" for note in notes)
        # a decision is saved: other settings must not repeat it on fewer results
        return Reaction(line, notes=lines, save=bool(lines), milestone="; ".join(lines[-1:]))

    def complete(self, standing: Standing) -> bool:
        """Return whether every game of the present match has been played."""
        matchup = self.current(standing)
        return self.nothing(standing) if matchup is None else matchup.complete()

    def restore(self, matches: list[Match]) -> None:
        self.matches = matches
        self._matchups.clear()
        for match in matches:
            self._append_matchup(match)

    # reports

    def warnings(self, standing: Standing) -> list[str]:
        settings = self.settings
        if settings is None:
            return []
        both = self._players(self._start)
        line = expected_repeats(both, self._book.size, settings.games, 2, " of the closing match")
        lines = [line] if line else []
        if standing.due and self.nothing(standing):
            lines.append(NOTHING)
        matchup = self.current(standing) if standing.due else None
        if matchup is not None:
            changed = matchup.changed_test()
            lines += [f"the SPRT of the closing match {changed}"] if changed else []
            return lines
        replaced = bool(self.matches) and self.matches[-1].iteration == standing.iterations
        if replaced and standing.due and not self.nothing(standing):
            lines.append(
                "the last closing match had other values or conditions; another one will be played"
            )
        return lines

    def notices(self, standing: Standing) -> list[str]:
        size = self._book.size
        if self.settings is None or self._own_book is not None or size is None:
            return []
        left, pairs = max(0, size - standing.openings), self.settings.games // 2
        if left >= pairs:
            return []
        if not standing.openings:
            return [
                f"the closing match may need {pairs} openings, but its book has {size}: they "
                "will repeat; Verify(openings=…) sets another book"
            ]
        return [
            f"the tune leaves {left or 'none'} of the {size} openings of its book for the closing "
            f"match, which may need {pairs}: it will repeat openings of the tune; "
            "Verify(openings=…) sets another book"
        ]

    def progress(self, standing: Standing) -> tuple[int, int]:
        """Return the numbers of played and wanted games of the current match."""
        matchup = self.current(standing)
        if matchup is None:
            games = 0 if self.settings is None or self.nothing(standing) else self.settings.games
            return 0, games
        return matchup.tally.completed, matchup.total() or matchup.tally.completed

    @property
    def completed(self) -> int:
        """Number of counted games of all matches."""
        return sum(match.tally.completed for match in self.matches)

    def infos(self, standing: Standing) -> list[MatchupInfo]:
        """Return all matches, the last one with the present settings if it is due."""
        self.current(standing)
        return [matchup.info() for matchup in self._matchups]

    @property
    def against_start(self) -> bool:
        """Return whether the present match is against the start values."""
        if self.settings is None:
            return bool(self.matches) and self.matches[-1].start is not None
        return self.settings.against == START

    def blocks(self, standing: Standing) -> list[Table | Text]:
        blocks: list[Table | Text] = [
            self._table(match, info, standing)
            for match, info in zip(self.matches, self.infos(standing), strict=True)
        ]
        if standing.due and self.nothing(standing):
            blocks.append(Text((f"closing match: {NOTHING}",)))
        return blocks

    def live_blocks(self, standing: Standing) -> list[Table | Text]:
        rows = {
            info.name + f" after {match.iteration} {self._counted}" * (len(self.matches) > 1): info
            for match, info in zip(self.matches, self.infos(standing), strict=True)
        }
        return [live_table(rows, self._game.game, "closing match")] if rows else []

    def _table(self, match: Match, info: MatchupInfo, standing: Standing) -> Table:
        tuned = self._shown(match.tuned)
        values = ", ".join(f"{code}={value_text(value)}" for code, value in tuned.items())
        details = textwrap.wrap(
            f"tuned: {values}", 100, subsequent_indent="    ", break_on_hyphens=False
        )
        details.append(match.conditions)
        if match.iteration != standing.iterations:
            details.append("the tune has continued since")
        heading = f"closing match after {match.iteration} {self._counted}: {info.name}"
        table = matchup_table(info, self._game.game, heading, "\n".join(filter(None, details)))
        notes = (
            f"at {control}: {results_text([tally])}; {tally.estimate()}"
            for control, tally in match.by_time_control.items()
            if tally.known
        )
        return msgspec.structs.replace(table, notes=(*table.notes, *notes))

    def summaries(self, standing: Standing) -> list[dict[str, Any]]:
        """Return the matchups of `show --json`."""
        return [
            {
                **matchup_data(info),
                "number_of_games": info.number_of_games,
                self._counted: match.iteration,
                "parameters": [self._shown(match.values(player)) for player in (0, 1)],
                "time_controls": [
                    {"time_control": control, **results_data([tally])}
                    for control, tally in match.by_time_control.items()
                ],
            }
            for match, info in zip(self.matches, self.infos(standing), strict=True)
        ]


def _time_control_of_pair(weights: Mapping[str, float], pair: int) -> str:
    """Return the time control of a pair of games.

    The first pairs have one each; the others are spread evenly by weight.
    """
    total = sum(weights.values())
    thousandths = {c: max(1, round(1000 * weight / total)) for c, weight in weights.items()}
    order = (*weights, *weighted_cycle(thousandths))
    return order[pair % len(order)]


def _same(values: ValuesByCode, others: ValuesByCode) -> bool:
    """Return whether values are equal but for rounding."""
    return values.keys() == others.keys() and all(
        math.isclose(value, others[code], rel_tol=1e-9) for code, value in values.items()
    )


def _match_id(number: int) -> str:
    return f"verify{number}"
