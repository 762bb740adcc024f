"""An event: a control file with its competition, its files and what the store
knows of it.  All actions of the command line start here; only `run` goes on to
the loop in `ringmaster`."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from ringmaster.competitions import KINDS, competition_class, type_names
from ringmaster.competitions.adjudication import check_files
from ringmaster.competitions.competition import Competition
from ringmaster.conditions import Conditions
from ringmaster.control.changes import (
    Comparison,
    allow_all,
    canonical_settings,
    find_changes,
    judge_by_played,
    other_type,
)
from ringmaster.control.function_changes import not_compared
from ringmaster.control.loader import Loaded, load
from ringmaster.errors import (
    ControlFileError,
    SettingError,
    SettingErrors,
    StateRefused,
    StoreUnwritable,
)
from ringmaster.model.jobs import CheckJob
from ringmaster.model.players import Player
from ringmaster.model.report import Report
from ringmaster.model.results import CheckResult
from ringmaster.model.settings import Setting, SettingPath
from ringmaster.reporting.tables import render_report
from ringmaster.storage.paths import OutputPaths
from ringmaster.storage.store import Issue, Store

#: How a problem with an option begins (engines.uci).
_OPTION = re.compile(r"(?:has no option|option) '([^']*)'")
#: How a refused GTP command is told (engines.gtp): all its words but the last, and why.
_COMMAND = re.compile(r"it refused '(.+) [^ ]+': (.*)", re.DOTALL)


def _begins(template: str | None, words: str) -> bool:
    """Whether a GTP command made of a template begins with some words, and has one more."""
    if template is None:
        return False
    fixed, conversion, _ = template.partition("%")
    return fixed.split() == words.split() and (not conversion or fixed.endswith(" "))


def _table_of(type_name: str) -> tuple[Setting, ...] | None:
    found = competition_class(type_name)
    return None if found is None else found.table


class _Elsewhere(Mapping[str, tuple[str, ...]]):
    """Which competition types have a setting; they are imported only when
    something is looked up."""

    @cached_property
    def _types(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for type_name in type_names():
            for setting in _table_of(type_name) or ():
                found[setting.name] = (*found.get(setting.name, ()), type_name)
        return found

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)


class Event:
    """A loaded control file and the competition it describes.

    Raises ControlFileError from the constructor, with every independent error.
    """

    def __init__(self, path: Path) -> None:
        self.loaded: Loaded = load(
            path, _table_of, type_names(), kinds=KINDS, elsewhere=_Elsewhere()
        )
        #: The interpreted settings as JSON data, `competition_type` included;
        #: made before a function of the file is called, which may change what
        #: it uses.
        self.settings: dict[str, Any] = {
            "competition_type": self.loaded.competition_type,
            **canonical_settings(
                self.loaded.table, self.loaded.values, self.loaded.origin.filename
            ),
        }
        self.paths = OutputPaths(path)
        self.competition: Competition = self._make_competition()
        self.conditions = Conditions(self.competition)
        #: What an edit of the control file has done to the state, see `Competition.adopt`;
        #: known after `restore`.
        self.effects: list[str] = []

    @property
    def code(self) -> str:
        """The competition code."""
        return self.loaded.code

    def _make_competition(self) -> Competition:
        found = competition_class(self.loaded.competition_type)
        assert found is not None
        try:
            competition = found(self.code, self.loaded.values)
            competition.positions_file = self.paths.positions
            return competition
        except SettingErrors as several:
            raise self.loaded.error(several.errors) from None
        except SettingError as error:
            raise self.loaded.error([error]) from None

    def prepare(self) -> None:
        """Load what jobs need: openings, positions.  Raises OpeningsError, ControlFileError."""
        try:
            self.competition.prepare()
            jobs = self.competition.check_jobs()
            # the same files once, however many players there are
            for settings in {job.settings.tablebases: job.settings for job in jobs}.values():
                check_files(settings)
        except SettingError as error:
            raise self.loaded.error([error]) from None

    def check_functions(self, *, played: bool) -> None:
        """Call the control file's functions with values that may be played later.

        played  whether there are results: then a failure is a warning, since the values
                may never be reached
        Raises ControlFileError.
        """
        errors = self.competition.function_failures()
        if errors and not played:
            raise self.loaded.error(errors)
        self.loaded.warn_all(errors)

    def check_jobs(self) -> list[CheckJob]:
        """Return the startup checks of players.  Raises ControlFileError."""
        try:
            return self.competition.check_jobs()
        except SettingError as error:
            raise self.loaded.error([error]) from None

    def warnings(self) -> list[str]:
        """Return what is suspicious in the control file, rendered."""
        rendered = [str(warning) for warning in self.loaded.warnings]
        return rendered + [f"warning: {line}" for line in self.competition.warnings()]

    def compare(self, store: Store | None) -> Comparison:
        """Return what has been changed in the control file since the last run."""
        last = None if store is None else store.last_run()
        if store is None or last is None:
            return Comparison()
        completed, void = store.counts()
        played = completed + void > 0
        was = last.settings.get("competition_type")
        if was not in (None, self.competition.type_name):
            changes = [other_type(was, self.competition.type_name)]
        else:
            changes = find_changes(
                self.competition.table, last.settings, self.settings, self.loaded.path_text
            )
            if played and any(change.change == "played" for change in changes):
                changes = judge_by_played(changes, self._contradictions(store))
        notes = []
        if last.source_hash != self.loaded.source_hash:
            notes = [*dict.fromkeys(not_compared(self.settings))]
        return Comparison(
            run=last.number,
            started=last.started,
            completed=completed,
            unit=self.competition.unit.removesuffix("s"),
            played=played,
            changes=tuple(changes) if played else allow_all(changes),
            notes=tuple(notes),
        )

    def _contradictions(self, store: Store) -> dict[SettingPath, str]:
        snapshot = store.snapshot()
        assert snapshot is not None  # there are results
        tickets = (game.ticket for game in store.games() if game.result.outcome != "void")
        return self.competition.contradictions(snapshot[1], tickets)

    def check_changes(self, store: Store) -> Comparison:
        """Return the changes since the last run.  Raises ControlFileError when
        some of them would take the meaning from the results so far."""
        comparison = self.compare(store)
        failure = self.changes_failure(comparison)
        if failure is not None:
            raise failure
        return comparison

    def changes_failure(self, comparison: Comparison) -> ControlFileError | None:
        """Return the refused changes as errors of the control file, if there
        are any."""
        refused = comparison.refused
        return self.loaded.error(change.error() for change in refused) if refused else None

    def state_failure(self, store: Store | None) -> ControlFileError | None:
        """Return why the results so far do not fit the settings, if they do not:
        what no comparison with the last run alone can see."""
        snapshot = None if store is None or not any(store.counts()) else store.snapshot()
        if snapshot is not None:
            try:
                self._make_competition().restore(snapshot[1])
            except StateRefused as refused:
                return self._refused(refused)
        return None

    def _refused(self, refused: StateRefused) -> ControlFileError:
        return self.loaded.error([SettingError(refused.path, str(refused))])

    def engine_key(self, player: Player) -> Hashable:
        """Return what players share that one thorough check is enough for: all
        but what they are called, the values of their options, and those of their
        limits."""
        limits = (player.time_control, player.move_time, player.nodes, player.depth)
        return (
            (player.command, player.cwd, player.protocol, player.ponder),
            frozenset(player.environ.items()),
            frozenset(player.options),
            frozenset(command[:1] for command in player.startup_gtp_commands),
            tuple(limit is not None for limit in limits),
        )

    def check_failure(self, results: Sequence[CheckResult]) -> ControlFileError | None:
        """Return what startup checks found as errors of the control file, each
        problem once; None when all players passed."""
        errors: dict[tuple[object, ...], SettingError] = {}
        for result in results:
            for problem in result.problems:
                # a command that is refused with one value of a parameter is so with others
                command = _COMMAND.search(problem)
                what = (problem,) if command is None else command.groups()
                key = (result.code, *what)
                if key not in errors:
                    errors[key] = self._check_error(result.code, problem)
        return self.loaded.error(errors.values()) if errors else None

    def _check_error(self, code: str, problem: str) -> SettingError:
        """Return a player's problem with the setting that it is most likely about."""
        message = f"player {code!r}: {' | '.join(problem.splitlines()).replace(': | ', ': ')}"
        place = self.competition.place_of(code)
        option = _OPTION.search(problem)
        if option is None:
            command = _COMMAND.search(problem)
            given = [
                i
                for i, parameter in enumerate(self.loaded.values.get("parameters", ()))
                if command is not None and _begins(getattr(parameter, "gtp", None), command[1])
            ]
            return SettingError(("parameters", given[0], "gtp") if given else place, message)
        for i, parameter in enumerate(self.loaded.values.get("parameters", ())):
            if option[1] in (parameter.option, parameter.code):
                # the commonest slip in a tune
                whole = getattr(parameter, "integer", True)
                forgotten = "takes an integer" in problem and not whole
                expected = "integer=True in its Parameter" if forgotten else ""
                return SettingError(("parameters", i), message, expected)
        return SettingError((*place, "options", option[1]) if len(place) > 1 else place, message)

    def starts_anew(self, store: Store) -> bool:
        """Whether the store is of other settings and has no result: then what
        it has, games given out under those settings, means nothing now."""
        return not any(store.counts()) and bool(self.compare(store).changes)

    def restore(self, store: Store) -> list[Issue]:
        """Bring the competition to where the store is; returns the games that
        were given out, never came back, and are still wanted."""
        self.competition.attach(store.scores)
        if self.starts_anew(store):
            return []
        snapshot = store.snapshot()
        after = 0
        if snapshot is not None:
            after, state = snapshot
            try:
                self.competition.restore(state)
            except StateRefused as refused:
                raise self._refused(refused) from None
        for recorded in store.results(after):
            self.competition.take(recorded.ticket, recorded.result)
        self.conditions.restore(store)
        issues = store.issues()
        self.effects = self.competition.adopt([issue.ticket for issue in issues])
        return [issue for issue in issues if self.competition.resume(issue.ticket)]

    def report_text(self) -> str:
        """Return the report."""
        description = self.loaded.values["description"]
        return render_report(
            Report((*self.competition.report().blocks, *self.conditions.blocks())),
            heading=f"{self.competition.type_name}: {self.code}",
            description=None if description is None else description.strip(),
        )

    def write_report(self) -> None:
        """Write the report's file.  Raises StoreUnwritable, ForeignFiles."""
        self.paths.check([self.paths.report])
        try:
            self.paths.report.write_text(self.report_text(), encoding="utf-8")
        except OSError as error:
            raise StoreUnwritable(f"cannot write {self.paths.report}: {error.strerror}") from error

    def summary(self, store: Store | None, in_progress: int) -> dict[str, Any]:
        """Return what `show --json` prints."""
        counts = (0, 0) if store is None else store.counts()
        completed, void = self.competition.games(*counts)
        return {
            "competition": self.code,
            "competition_type": self.competition.type_name,
            "games": {
                "completed": completed,
                "void": void,
                "in_progress": in_progress,
                "total": self.competition.progress().total,
            },
            "void_by_kind": self.competition.void_kinds(),
            **self.competition.summary(),
            "conditions": self.conditions.summary(),
            "runs": 0 if store is None else store.runs(),
        }
