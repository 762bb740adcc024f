"""A loaded control file with its competition, output files and recorded results.

Every command starts here; only `run` needs the loop in `ringmaster`.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.competitions import KINDS, competition_class, type_names
from ringmaster.competitions.cluster_settings import check_resources
from ringmaster.competitions.common_settings import PlayerDefinition, noting, placed
from ringmaster.competitions.competition import Competition, Setup, Summary
from ringmaster.competitions.game_settings import check_files
from ringmaster.competitions.tuning.parameter_binding import contradictions
from ringmaster.conditions import ReportedConditions
from ringmaster.control.builds import Builds, competition_files
from ringmaster.control.changes import (
    Comparison,
    SettingChange,
    allow_all,
    canonical_settings,
    find_changes,
    judge_by_played,
    other_type,
)
from ringmaster.control.loader import ControlFile, load
from ringmaster.errors import (
    ControlFileError,
    DataFileError,
    SettingError,
    SettingErrors,
    StateRefused,
    StoreCorrupt,
)
from ringmaster.model.jobs import CheckJob, is_of_closing_match
from ringmaster.model.output_files import cache_folder, replacing
from ringmaster.model.players import Player, Source
from ringmaster.model.report import ChartGroup, Report, Table
from ringmaster.model.results import CheckResult, Problem
from ringmaster.model.settings import Setting, SettingPath
from ringmaster.reporting.tables import render_report
from ringmaster.storage.entries import IssuedJob
from ringmaster.storage.paths import OutputPaths
from ringmaster.storage.store import Store

#: Key of `competition_files` in the settings.
FILES = "files"
#: Key of the store's note with the commits of players from git, by code.
SOURCES = "sources"
#: Played jobs by whose values the functions of a control file are judged; evenly chosen.
MOST_PLAYED = 1000


def _begins(template: str | None, command: str) -> bool:
    """Return whether a template such as "level %d" may have produced a GTP command."""
    words = command.split()[:-1]
    if template is None or not words:
        return False
    fixed, conversion, _ = template.partition("%")
    return fixed.split() == words and (not conversion or fixed.endswith(" "))


def _table_of(type_name: str) -> tuple[Setting, ...] | None:
    competition = competition_class(type_name)
    return None if competition is None else competition.table


def _places(data: Any, text: str) -> Iterator[SettingPath]:
    """Yield the paths of a text in JSON data."""
    items = data.items() if isinstance(data, dict) else ()
    for key, value in enumerate(data) if isinstance(data, list) else items:
        if value == text:
            yield (key,)
        yield from ((key, *path) for path in _places(value, text))


class LoadedCompetition:
    """A loaded control file and its competition.

    safe  evaluate the file in safe mode

    The constructor raises ControlFileError with every independent error.
    """

    def __init__(self, path: Path, *, safe: bool = False) -> None:
        self.control_file: ControlFile = load(path, _table_of, type_names(), kinds=KINDS, safe=safe)
        #: The interpreted settings as JSON data, with `competition_type` and FILES; computed
        #: before any call of the file's functions, since a function may change its globals.
        self.settings: dict[str, Any] = {
            "competition_type": self.control_file.competition_type,
            **canonical_settings(
                self.control_file.table, self.control_file.values, self.control_file.origin.filename
            ),
        }
        self.paths = OutputPaths(path)
        self._directory = str(self.paths.control.parent.absolute())
        self.settings[FILES] = competition_files(self.settings, self._directory)
        #: Codes of players whose new builds do not matter.
        self.accepted: set[str] = set()
        #: Commits of players from git, by code, after `build_engines`.
        self.sources: dict[str, Source] = {}
        players: dict[str, PlayerDefinition] = self.control_file.values["players"]
        unbuilt = str(cache_folder("builds") / "unbuilt")
        for code, definition in players.items():
            # reports need no build
            if source := definition.source(self._directory, unbuilt):
                players[code] = definition.built(source)
        self.competition: Competition
        self.conditions: ReportedConditions
        #: Failures of the control file's functions, after `prepare`.
        self._failures: list[SettingError] = []
        #: Effects of edits of the control file on the state (`Competition.apply_edits`), after
        #: `restore`.
        self.effects: list[str]
        self.forget_results()

    def forget_results(self) -> None:
        """Return to the state before `restore`, to restore later results."""
        make = competition_class(self.control_file.competition_type)
        assert make is not None
        with self.locating_errors():
            self.competition = make(self.code, self.control_file.values)
        self.competition.positions_file = self.paths.positions
        make_builds = partial(
            Builds, directory=self._directory, accepted=self.accepted, place_of=self.place_of
        )
        self.conditions = ReportedConditions(self.competition, make_builds)
        self.effects = []

    @property
    def code(self) -> str:
        return self.control_file.code

    @contextmanager
    def locating_errors(self) -> Iterator[None]:
        """Raise a SettingError of the block again, with its place in the control file."""
        try:
            yield
        except SettingErrors as several:
            raise self.control_file.error(several.errors) from None
        except SettingError as error:
            raise self.control_file.error([error]) from None

    def build_engines(self, say: Callable[[str], None], *, update: bool = False) -> None:
        """Build the engines from git that play, and run their benchmarks.

        update  whether to build the present commits of refs, not the recorded ones

        Raises ControlFileError, also in safe mode: a build runs code of the file.
        """
        players: dict[str, PlayerDefinition] = self.control_file.values["players"]
        sources = {code: s for code, each in players.items() if (s := each.values.get("source"))}
        if not sources:
            return
        playing = [job.player.source for job in self.setup().checks]
        wanted = {code: source for code, source in sources.items() if source in playing}
        if wanted and self.control_file.safe:
            fault = "--safe builds no engine: its build line is code of the control file"
            places = [("players", code, "git") for code in wanted]
            raise self.control_file.error(SettingError(place, fault) for place in places)
        # few control files need it
        from ringmaster.sources.building import provide

        recorded: dict[str, Source] = {}
        known: list[Source] = []
        if self.paths.has_results:
            with closing(Store.open_readonly(self.paths.status)) as store:
                recorded = store.read_value(SOURCES, dict[str, Source]) or {}
                builds = store.builds().values()
                known = [*recorded.values(), *(b.source for b in builds if b.source is not None)]
        errors: list[SettingError] = []
        for code, source in wanted.items():
            before = None if update else recorded.get(code)
            arguments, others = players[code].values, wanted.values()
            with noting(errors), placed("players", code):
                source = provide(source, arguments, before, known, others, say)
                recorded[code] = source
                players[code] = players[code].built(source)
        if errors:
            raise self.control_file.error(errors)
        # players that pause keep their commits
        self.sources = recorded
        self.forget_results()

    def prepare(self) -> None:
        """Load openings and positions.

        Raises ControlFileError, and DataFileError for a line or record of a file.
        """
        try:
            with self.locating_errors():
                self._failures = self.competition.prepare()
                # each set of files once, for any number of players
                jobs = self.competition.setup().checks
                for settings in {job.settings.tablebases: job.settings for job in jobs}.values():
                    check_files(settings)
        except DataFileError as error:
            place = self._place_of_file(error.path)
            if error.number is not None or not place:
                raise
            raise self.control_file.error([SettingError(place, str(error))]) from None

    def verify_openings(self) -> None:
        """Verify all openings now; a run does it between games.  Raises DataFileError."""
        # most runs need none of it
        from ringmaster.formats.source import Progress

        progress = Progress(self.competition.say)
        for checks in self.competition.unverified:
            for number in checks:
                progress.report(f"{number:,} openings verified")

    def _place_of_file(self, name: str) -> SettingPath:
        """Return the outermost setting that names a file, () if there is none."""
        values = canonical_settings(self.control_file.table, self.control_file.values)
        return min(_places(values, name), key=len, default=())

    def check_functions(self, *, played: bool) -> None:
        """Report failures of the control file's functions, found by `prepare`.

        played  whether there are results: then a failure is a warning, since these values
                may never be needed
        Raises ControlFileError.
        """
        if self._failures and not played:
            raise self.control_file.error(self._failures)
        self.control_file.warn_all(self._failures)

    def setup(self) -> Setup:
        """Return the competition's facts for the start of a run, with checks of referees.

        Raises ControlFileError.
        """
        with self.locating_errors():
            setup = self.competition.setup()
            checks = list(setup.checks)
            games = [job.settings for job in checks if job.settings.referee is not None]
            for number, settings in enumerate(g for i, g in enumerate(games) if g not in games[:i]):
                assert settings.referee is not None
                id = f"check-{settings.referee.code}-referee{number or ''}"
                checks.append(CheckJob(id, settings.referee, settings))
            for job in checks:
                check_resources(self.control_file.values, (job.player,))
        return msgspec.structs.replace(setup, checks=checks)

    def warnings(self, summary: Summary | None = None) -> list[str]:
        """Return the warnings about the control file as text.

        summary  the present one, if it is known
        """
        summary = summary or self.competition.summary()
        rendered = [str(warning) for warning in self.control_file.warnings]
        return rendered + [f"warning: {line}" for line in summary.warnings]

    def compare(self, store: Store | None) -> Comparison:
        """Return the changes of the control file since the last run."""
        last = None if store is None else store.last_run()
        if store is None or last is None:
            return Comparison()
        completed, void = store.counts()
        played = completed + void > 0
        last_type = last.settings.get("competition_type")
        if last_type not in (None, self.competition.type_name):
            changes = [other_type(last_type, self.competition.type_name)]
        else:
            changes = find_changes(
                self.competition.table, last.settings, self.settings, self.control_file.path_text
            )
            is_edited = last.source_hash != self.control_file.origin.hash
            contradicted: dict[SettingPath, str] = {}
            if all(change.allowed for change in changes):
                contradicted = self._contradictions(store, is_edited)
            changes = judge_by_played(changes, contradicted, self.control_file.path_text)
            changes += self._changed_files(last.settings.get(FILES, {}))
        self.conditions.restore_builds(store)
        closing = 0
        if changes:
            closing = sum(
                is_of_closing_match(game.ticket)
                for game in store.games()
                if game.result.outcome != "void"
            )
        return Comparison(
            run=last.number,
            started=last.started,
            completed=completed,
            unit=self.competition.unit.removesuffix("s"),
            played=played,
            changes=tuple(changes) if played else allow_all(changes),
            closing=closing,
            rebuilt=tuple(self.conditions.builds.rebuilt) if played else (),
        )

    def _changed_files(self, before: Mapping[str, str]) -> Iterator[SettingChange]:
        """Yield changes of the content of opening files and tablebases since the last run."""
        for name, now in self.settings[FILES].items():
            former = before.get(name, now)
            if now and now != former:
                place = self._place_of_file(os.path.normpath(os.path.join(self._directory, name)))
                where = self.control_file.path_text(place)
                what = f"{name} has other content"
                yield SettingChange(place, where, what, former, now, "free")

    def _contradictions(self, store: Store, is_edited: bool) -> dict[SettingPath, str]:
        """Return, by setting, how its function contradicts a value already played.

        is_edited  whether the control file was edited.  Reports go on beside a function that
                   fails without an edit; a run ends when it needs its value.
        """
        played = (self.competition.played_values(ticket) for ticket in store.sample(MOST_PLAYED))
        with self.reading_tickets():
            return contradictions(chain.from_iterable(played), failures=is_edited)

    def check_changes(self, store: Store) -> Comparison:
        """Return the changes since the last run.

        Raises ControlFileError if the results so far would lose their meaning.
        """
        comparison = self.compare(store)
        failure = self.changes_failure(comparison)
        if failure is not None:
            raise failure
        return comparison

    def changes_failure(self, comparison: Comparison) -> ControlFileError | None:
        """Return the refused changes as errors of the control file, or None."""
        refused = comparison.refused
        return self.control_file.error(change.error() for change in refused) if refused else None

    def builds_failure(self, comparison: Comparison) -> ControlFileError | None:
        """Return the players with other builds, which may play no more, as errors, or None."""
        refused = [change.error() for change in comparison.rebuilt if not change.allowed]
        return self.control_file.error(refused) if refused else None

    def state_failure(self, store: Store | None) -> ControlFileError | None:
        """Return an error if the recorded state does not fit the settings, else None.

        `compare` sees only the last run and may miss it.
        """
        snapshot = None if store is None or not any(store.counts()) else store.snapshot()
        if store is not None and snapshot is not None:
            try:
                with self._refusing():
                    self.competition.restore(snapshot[1])
            except ControlFileError as refused:
                return refused
            finally:
                self.forget_results()
                self.conditions.restore_builds(store)
        return None

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Raise ControlFileError for a state that the block cannot read, or that does not fit."""
        try:
            yield
        except StateRefused as refused:
            error = SettingError(refused.path, str(refused))
        except (AttributeError, LookupError, TypeError, ValueError, msgspec.MsgspecError) as fault:
            error = SettingError(
                ("competition_type",),
                f"the stored state cannot be read ({type(fault).__name__}: {fault}); `fsck` "
                "repairs a damaged status file",
            )
        else:
            return
        raise self.control_file.error([error])

    def engine_key(self, player: Player) -> Hashable:
        """Return a key of players that one thorough check covers.

        They may differ in code and in the values of options and limits.
        """
        limits = (player.time_control, player.move_time, player.nodes, player.depth)
        return (
            (player.command, player.cwd, player.protocol, player.ponder),
            frozenset(player.environ.items()),
            frozenset(player.options),
            frozenset(command[:1] for command in player.startup_gtp_commands),
            tuple(limit is not None for limit in limits),
        )

    def check_failure(self, results: Sequence[CheckResult]) -> ControlFileError | None:
        """Record the facts of startup checks; return problems as errors of the control file, or
        None."""
        errors: dict[Hashable, SettingError] = {}
        for result in results:
            for problem in result.problems:
                key: Hashable = problem
                if problem.kind == "command":
                    # commands of candidates differ in the last word, a parameter's value
                    key = (problem.subject.rpartition(" ")[0] or problem.subject, problem.reason)
                errors.setdefault((result.code, key), self._check_error(result.code, problem))
            renamed = self.conditions.take_check(result)
            if renamed is not None:
                errors[result.code, "build"] = renamed.error()
        return self.control_file.error(errors.values()) if errors else None

    def _check_error(self, code: str, problem: Problem) -> SettingError:
        """Return a player's problem with the setting that probably causes it."""
        lines = " | ".join(str(problem).splitlines()).replace(": | ", ": ")
        message = f"player {code!r}: {lines}"
        place = self.place_of(code)
        for i, parameter in enumerate(self.control_file.values.get("parameters", ())):
            if problem.kind == "command":
                if _begins(getattr(parameter, "gtp", None), problem.subject):
                    return SettingError(("parameters", i, "gtp"), message)
            elif problem.subject and problem.subject in (parameter.option, parameter.code):
                # a common mistake: the parameter has fractional values
                is_integer = getattr(parameter, "integer", True)
                is_mistake = problem.expected.startswith("an integer") and not is_integer
                expected = "integer=True in its Parameter" if is_mistake else ""
                return SettingError(("parameters", i), message, expected)
        if problem.kind == "option" and len(place) > 1:
            place = self._place_of_option(place, problem.subject)
        return SettingError(place, message, self._file_beside(code))

    def place_of(self, code: str) -> SettingPath:
        """Return the setting that defines a player of the startup checks."""
        values = self.control_file.values
        tuned: str = values.get("player", "")
        if values.get("make_candidate") is not None and (
            code == tuned or code not in values["players"]
        ):
            return ("make_candidate",)
        return ("players", code if code in values["players"] else tuned)

    def _place_of_option(self, player: SettingPath, name: str) -> SettingPath:
        """Return the place of an option: of the player, of all players, or of a matchup."""
        values = self.control_file.values
        own = values["players"][player[1]].values["options"] if player[0] == "players" else None
        lists = {name: enumerate(values.get(name, ())) for name in ("matchups", "stages")}
        places: dict[SettingPath, Any] = {
            (*player, "options"): own,
            ("options",): values["options"],
            **{(n, i, "options"): m.get("options") for n, items in lists.items() for i, m in items},
        }
        place = next((p for p, options in places.items() if name in (options or ())), None)
        return (*(place or (*player, "options")), name)

    def _file_beside(self, code: str) -> str:
        """Return a remedy if a player's command is not on PATH, but beside the control file."""
        players = [job.player for job in self.competition.setup().checks]
        name = next((p.command[0] for p in players if p.code == code), "/")
        beside = "/" not in name and (self.paths.control.parent / name).is_file()
        if not beside or shutil.which(name) is not None:
            return ""
        return f"'./{name}' for the file beside the control file"

    def restore(self, store: Store, comparison: Comparison) -> list[IssuedJob]:
        """Restore the competition from the store.

        Return the issued games without a result that are still needed.

        comparison  of the control file with the last run

        Raises ControlFileError if the state does not fit the settings, StoreCorrupt.
        """
        self.competition.scores = store.scores
        if comparison.starts_over:
            return []
        after, state = store.snapshot() or (0, None)
        if state is not None:
            with self._refusing():
                self.competition.restore(state)
        for recorded in store.results(after):
            with self.reading_tickets(f"result {recorded.seq}, "):
                self.competition.record_result(recorded.ticket, recorded.result)
        with self._refusing(), self.reading_tickets():
            self.conditions.restore(store)
            issues = store.issues()
            self.effects = self.competition.apply_edits([issue.ticket for issue in issues])
            return [issue for issue in issues if self.competition.resume(issue.ticket)]

    @contextmanager
    def restored(self) -> Iterator[Store | None]:
        """Restore the competition; yield its store for reading, None before the first run.

        Raises ControlFileError for refused changes, StoreError.
        """
        if not self.paths.has_results:
            yield None
            return
        with closing(Store.open_readonly(self.paths.status)) as store:
            self.restore(store, self.check_changes(store))
            yield store

    @contextmanager
    def reading_tickets(self, place: str = "") -> Iterator[None]:
        """Raise StoreCorrupt for errors of a ticket: it may be of a stranger's status file."""
        try:
            yield
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise StoreCorrupt(
                f"{self.paths.status} is damaged: a game's ticket cannot be read "
                f"({place}{type(error).__name__}: {error})"
            ) from error

    def charts(self, store: Store | None) -> list[ChartGroup]:
        """Return the charts of the restored competition.  Raises StoreError."""
        usage = self.competition.charts_read_usage
        # a million results leave no cycles, and looking for them doubles the time
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            with self.reading_tickets():
                return self.competition.charts(() if store is None else store.history(usage=usage))
        finally:
            if was_enabled:
                gc.enable()

    def report_text(
        self,
        summary: Summary | None = None,
        *,
        further: Sequence[Table] = (),
        begins: bool = True,
        columns: int | None = None,
    ) -> str:
        """Return the report.

        summary  the present one, if it is known
        further  tables behind the results
        begins   whether the verdict is also under the heading
        columns  of a terminal; None: not for a terminal
        """
        description = self.control_file.values["description"]
        summary = summary or self.competition.summary()
        return render_report(
            Report((*summary.blocks, *further, *self.conditions.blocks(summary))),
            heading=f"{self.competition.type_name}: {self.code}",
            description=None if description is None else description.strip(),
            verdict=summary.verdict,
            begins=begins,
            columns=columns,
        )

    def write_report(self, summary: Summary | None = None, further: Sequence[Table] = ()) -> None:
        """Write the report's file; its origin was checked.  Raises StoreUnwritable."""
        text = self.report_text(summary, further=further)
        with replacing(self.paths.report) as file:
            file.write(text.encode("utf-8", "replace"))

    def data(self, store: Store | None, in_progress: int, summary: Summary) -> dict[str, Any]:
        """Return the data for `show --json`."""
        return {
            "competition": self.code,
            "competition_type": self.competition.type_name,
            "verdict": summary.verdict,
            "doubts": [msgspec.structs.asdict(doubt) for doubt in summary.doubts],
            "games": {
                "completed": summary.games,
                "void": summary.void,
                "in_progress": in_progress,
                "total": summary.progress.total,
            },
            "void_by_kind": summary.void_kinds,
            **summary.data(),
            "conditions": self.conditions.data(summary),
            "runs": 0 if store is None else len(store.runs()),
        }
