"""The only loop: issue, submit, record, show.

One transaction stores a result, the competition's new state and the next jobs; results
within COMMIT_PERIOD share a transaction.  Game records, history, log and display follow
the commit and can be rebuilt from the store.  So a crash at any instant doubles no game,
and loses at most the games of one COMMIT_PERIOD, which are played again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import islice
from typing import NamedTuple

import msgspec

import ringmaster
from ringmaster.competitions.competition import Reaction
from ringmaster.conditions import REFUSED_HOSTS, SHARING
from ringmaster.control import safe_bounds
from ringmaster.control.builds import remedies
from ringmaster.control.changes import MOST, Comparison
from ringmaster.engines import reaper
from ringmaster.errors import (
    CompetitionHalted,
    ControlFileError,
    DataFileError,
    EngineRebuilt,
    RingmasterError,
    SettingError,
    StoreError,
    StoreUnwritable,
    counted,
)
from ringmaster.execution.executor import Done, ErrorLines, Executor
from ringmaster.loaded_competition import SOURCES, LoadedCompetition
from ringmaster.model.jobs import CheckJob, GameJob, Task
from ringmaster.model.report import Table
from ringmaster.model.results import REBUILT, CheckResult, EvaluationResult, GameResult, Result
from ringmaster.player_checks import FirstTests, check_before_run
from ringmaster.reporting.keys import KeyReader
from ringmaster.reporting.live import Display
from ringmaster.reporting.progress import DisplayView
from ringmaster.results.figures import figures
from ringmaster.run_control import (
    COMMAND_PERIOD,
    PAGE,
    RunControl,
    RunOptions,
    SpareTime,
)
from ringmaster.run_log import RunLog
from ringmaster.storage.entries import IssuedJob, PendingRecord, RunEntry
from ringmaster.storage.journal import Journal
from ringmaster.storage.records import GameRecords
from ringmaster.storage.store import Store
from ringmaster.storage.transaction import Transaction

#: A state of more bytes than SMALL_STATE is stored once per BYTES_A_RESULT x results.
SMALL_STATE, BYTES_A_RESULT = 4096, 1024
#: Least number of seconds between two commits.
COMMIT_PERIOD = 0.02


class _StoredResult(NamedTuple):
    """A stored result with the competition's reaction and the game record to write."""

    result: Result
    reaction: Reaction
    record: PendingRecord | None


class Ringmaster:
    """One run of a competition.

    executor     makes the executor
    keys         reads the user's keys
    error_lines  lines of the engines' standard error for the terminal
    period       least seconds between two commits
    """

    def __init__(
        self,
        loaded: LoadedCompetition,
        options: RunOptions,
        *,
        executor: Callable[[], Executor],
        display: Display,
        keys: KeyReader | None = None,
        error_lines: ErrorLines | None = None,
        period: float = COMMIT_PERIOD,
    ) -> None:
        self._loaded = loaded
        self._competition = loaded.competition
        self._options = options
        self._make_executor = executor
        self._display = display
        self._control = RunControl(
            keys,
            error_lines,
            loaded.paths.take_commands,
            loaded.competition.unit,
            options.page,
        )
        self._error_lines = error_lines
        self._started = 0
        #: The executor's slots when jobs were last made.
        self._slots = 0
        self._records: GameRecords | None = None
        self._unsaved = 0
        self._state_size = 0
        self._halt = ""
        #: The failure of a function of the control file, or a fault in its openings: no job can
        #: be made any more.
        self._failure: SettingError | DataFileError | None = None
        self._backlog: list[IssuedJob] = []
        self._changes = Comparison()
        #: Void games to repeat, before those of the backlog.
        self._replays: list[IssuedJob] = []
        self._store: Store | None = None
        #: Results of the tests before a player's first game.
        self._tests: dict[str, list[str]] | None = None
        #: Whether a transaction failed, so that the competition's state must not be stored.
        self._inconsistent = False
        #: Whether the state counts a job that could not be made: the store keeps the state
        #: before it, and a restart adds the results.
        self._has_lost_job = False
        self._period = period
        #: Earliest time of the next commit (monotonic clock).
        self._next_commit = 0.0

    def run(self) -> int:
        """Run the competition; return exit status 0, or 3 after a signal.

        The caller holds the competition's lock.  Raises RingmasterError.
        """
        loaded = self._loaded
        paths = loaded.paths
        self._journal = Journal(paths)
        self._run_log = RunLog(self._journal, self._display, loaded)
        if not paths.log.stat().st_size:
            # this line identifies the log in later runs
            self._journal.log(f"log of {loaded.code}, by ringmaster {ringmaster.__version__}")
        # not later: reading the status file and closing it would end SQLite's locks
        paths.check([paths.report])
        with self._control.signals:
            try:
                if self._options.page:
                    self._run_log.say(f"{PAGE}: {self._options.page}")
                self._competition.say = self._run_log.say
                loaded.prepare()
                self._open_known_store()
                self._loaded.check_functions(
                    played=self._store is not None and any(self._store.counts())
                )
                for line in self._loaded.warnings():
                    self._run_log.warn(line)
                leftovers = reaper.kill_leftovers(shared=False)
                if leftovers:
                    processes = counted(leftovers, "process")
                    self._run_log.say(f"killed {processes} that engines of an earlier run had left")
                safe_bounds.lift()
                self._executor = self._make_executor()
                self._control.attach(self._executor, self._run_log.say)
                try:
                    self._check_players()
                    self._warn_of_crowding()
                    if self._control.signals.received is None:
                        self._play()
                    else:
                        verdict = self._competition.summary(live=True).verdict
                        self._display.message(f"{self._reason()} during startup: {verdict}")
                finally:
                    self._executor.close()
                    self._show_error_lines()
                    self._run_log.events.finish()
            finally:
                self._display.close()
                self._journal.close()
                if self._records is not None:
                    self._records.close()
                if self._store is not None:
                    self._store.close()
        if isinstance(self._failure, DataFileError):
            raise self._failure
        if self._failure is not None:
            raise self._loaded.control_file.error([self._failure])
        if self._halt:
            raise CompetitionHalted(f"the run was ended early: {self._halt}")
        if self._control.signals.received is not None:
            return 3
        if not self._control.stopping and not self._competition.finished():
            waiting = self._competition.summary(live=True).waiting
            if waiting:
                raise CompetitionHalted("\n".join(["the run is not complete:", *waiting]))
            raise CompetitionHalted(
                f"the competition is not complete, but has no more {self._competition.unit} to "
                "start; please report this, with the control file and the status file"
            )
        return 0

    def _open_known_store(self) -> None:
        """Resume from the status file, if there is one.

        A new status file is written after the players' check only.
        """
        paths = self._loaded.paths
        if paths.has_results:
            self._store = Store.open(paths.status)
            self._changes = self._loaded.check_changes(self._store)
            failure = self._loaded.builds_failure(self._changes)
            if failure is not None:
                raise failure
            self._backlog = self._loaded.restore(self._store, self._changes)

    def _check_players(self) -> None:
        """Start every player once.  Raises ControlFileError naming each problem."""
        if self._loaded.control_file.values["skip_player_checks"] or self._competition.finished():
            return
        known = None if self._store is None else self._store.read_value("tests")
        tests = FirstTests(self._loaded, known)
        try:
            check_before_run(
                self._loaded, self._executor, self._control.signals, tests, self._run_log.notices
            )
        except ControlFileError as error:
            self._journal.log(f"startup check failed: {error}")
            raise
        for line in tests.warnings():
            self._run_log.warn(line)
        for line in tests.untested:
            self._run_log.say(line)
        if conflict := self._loaded.conditions.rules_conflict():
            self._run_log.warn(f"warning: {conflict}")
        self._tests = tests.outcomes

    def _warn_of_crowding(self) -> None:
        """Warn of too few CPUs; call after the check, which reads the engines' threads."""
        cpus = self._options.cpus
        line = cpus and self._loaded.conditions.crowding(self._executor.slots, cpus)
        if line:
            self._run_log.warn(f"warning: {line}")

    def _play(self) -> None:
        loaded = self._loaded
        if self._store is None:
            self._store = Store.open(loaded.paths.status)
            self._competition.scores = self._store.scores
        if self._changes.starts_over:
            # in a transaction before the new settings: a kill in between changes nothing
            with self._store.transaction() as transaction:
                for issue in self._store.issues():
                    transaction.withdraw(issue.game_id)
                transaction.save_state(self._competition.state())
        if self._tests is not None:
            with self._store.transaction() as transaction:
                transaction.set_value("tests", self._tests)
        if loaded.sources:
            with self._store.transaction() as transaction:
                transaction.set_value(SOURCES, loaded.sources)
        self._run_log.resume(self._store)
        # engines may have been repaired since the last run
        self._competition.watch.clear()
        self._adopt()
        values = loaded.control_file.values
        self._records = GameRecords(
            self._store,
            loaded.paths,
            values["record_files"] if values["record_games"] else None,
            self._run_log.warn,
        )
        self._records.resume()
        number = self._store.begin_run(
            RunEntry(
                number=0,
                started=time.time(),
                version=ringmaster.__version__,
                source=loaded.control_file.origin.text,
                source_hash=loaded.control_file.origin.hash,
                settings=loaded.settings,
                parallel=self._executor.slots,
            )
        )
        self._journal.log(f"run {number} started (ringmaster {ringmaster.__version__})")
        for code, source in loaded.sources.items():
            self._journal.log(f"player {code!r}: {source}")
        for text in self._changes.texts(MOST):
            self._display.message(f"changed since the last run: {text}")
        for text in self._changes.texts():
            for line in text.splitlines():
                self._journal.log(f"changed since the last run: {line}")
        for text in (*self._loaded.effects, *self._loaded.setup().notices):
            self._run_log.say(text)
        self._copies = self._store.daily_copies(self._run_log.warn)
        self._play_began = time.monotonic()
        self._run_log.begin_events()
        reason = "error"
        try:
            self._issue_first()
            self._loop()
            reason = self._reason()
        except RingmasterError as error:
            with suppress(StoreError):
                self._journal.log(f"error: {error}")
            raise
        finally:
            self._finish(number, reason)

    def _adopt(self) -> None:
        """Store the effects of edits since the last run and their history lines, atomically."""
        assert self._store is not None
        effects = self._loaded.effects
        if not effects:
            return
        with self._store.transaction() as transaction:
            transaction.save_state(self._competition.state())
            transaction.set_value("history", effects)
        self._journal.history(effects)

    def _reason(self) -> str:
        if self._control.signals.received is not None:
            return f"interrupted by {self._control.signals.received.name}"
        if isinstance(self._failure, DataFileError):
            return f"an error in the openings: {self._failure}"
        if self._failure is not None:
            return f"an error in the control file: {self._failure}"
        if self._halt:
            return f"halted: {self._halt}"
        if self._competition.finished():
            return self._competition.summary(live=True).ending
        if self._control.stopping:
            return self._control.stopping
        waiting = self._competition.summary(live=True).waiting
        return f"halted: {'; '.join(waiting[:-1])}" if waiting else "nothing left to issue"

    def _finish(self, number: int, reason: str) -> None:
        assert self._store is not None
        summary = self._competition.summary(live=True)
        progress = summary.progress
        total = "" if progress.total is None else f"/{progress.total}"
        more = "" if self._competition.finished() else "; run it again to resume"
        one = (progress.completed if progress.total is None else progress.total) == 1
        label = progress.label.removesuffix("s") if one else progress.label
        ending = f"{reason} ({progress.completed}{total} {label}{more}): {summary.verdict}"
        self._run_log.look_for_doubt(summary)
        self._run_log.events.start("end", ending)
        unwritable: StoreUnwritable | None = None
        if not self._inconsistent:
            # where another file has failed, the status file may be gone, too
            with self._store.transaction(full=True) as transaction:
                self._save_now(transaction)
            if self._records is not None:
                try:
                    self._records.finish()
                except StoreUnwritable as error:
                    unwritable = error
        # the error that ended it is told, not another of the same cause
        with suppress(StoreError) if reason == "error" else nullcontext():
            self._journal.log(f"run {number} ended: {reason}")
            self._store.end_run(number, time.time(), reason)
        self._display.message(ending)
        if not self._inconsistent:
            tables: tuple[Table, ...] = ()
            if self._competition.finished():
                with suppress(StoreError):  # a record cannot be read
                    tables = figures(self._loaded, self._store)
            self._loaded.write_report(further=tables)
        if unwritable is not None:
            raise unwritable

    # issuing

    def _issue_first(self) -> None:
        """Fill the executor, first with issued games that have no result."""
        with self._transaction() as transaction:
            started = self._issue(transaction)
            self._save_now(transaction)
            self._store_hosts(transaction)
        self._run_log.results(started, halted=False)

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        """Begin a transaction that also changes the competition's state."""
        assert self._store is not None
        self._inconsistent = True
        with self._loaded.locating_errors(), self._store.transaction() as transaction:
            yield transaction
        self._inconsistent = False

    @property
    def _game_records(self) -> GameRecords:
        """The writer of game records; exists from `_play` on."""
        assert self._records is not None
        return self._records

    def _issue(self, transaction: Transaction) -> list[str]:
        """Submit jobs while the executor has room; return the log lines of new games."""
        self._slots = 0 if self._control.paused else self._executor.slots
        started: list[str] = []
        ahead_from = self._competition.runs_ahead_from
        ahead = ahead_from is not None and self._executor.slots >= ahead_from
        # jobs that have to wait for tokens leave room
        while room := self._executor.room(ahead=ahead):
            next_jobs: Iterator[Task] = iter(lambda: self._next_job(transaction), None)
            jobs = list(islice(next_jobs, room))
            started += self._submit(jobs)
            if len(jobs) < room:
                break
        return started

    def _next_job(self, transaction: Transaction) -> Task | None:
        """Issue and return the next job, None if this run starts no more."""
        if self._is_ending() or self._control.paused:
            return None
        limit = self._options.max_games
        if limit is not None and self._started >= limit:
            jobs = counted(limit, self._competition.unit.removesuffix("s"))
            self._control.stopping = f"stopped after {jobs}, the limit of --max-games"
            return None
        try:
            job = self._make_next(transaction)
        except (SettingError, DataFileError) as error:
            # finished games count, and so do games in progress
            self._failure, self._has_lost_job = error, True
            if isinstance(error, DataFileError):
                self._end_by(error)
            return None
        if job is not None:
            self._started += 1
        return job

    def _end_by(self, error: DataFileError) -> None:
        """Start no more jobs, because of a fault in the openings."""
        self._failure = error
        self._run_log.warn(f"{error}\nwaiting for {self._competition.unit} in progress")

    def _is_ending(self) -> bool:
        """Return whether this run starts no more jobs, whatever the user wants."""
        interrupted = self._control.signals.received is not None
        return bool(self._halt or self._control.stopping or self._failure or interrupted)

    def _make_next(self, transaction: Transaction) -> Task | None:
        """Return an issued job or a new one; a job on hold stays issued for a later run."""
        for issues in (self._replays, self._backlog):
            while issues:
                issue = issues.pop(0)
                job = self._competition.make_job(issue.game_id, issue.attempt, issue.ticket)
                if job is not None:
                    return job
        job = self._competition.next_job()
        if job is not None:
            transaction.issue(IssuedJob(job.id, job.attempt, job.ticket))
        return job

    def _submit(self, jobs: Sequence[Task]) -> list[str]:
        """Submit jobs to the executor; return the log lines of new games."""
        started: list[str] = []
        for job in jobs:
            if self._options.log_gtp or self._options.log_faults:
                suffix = f"_{job.attempt}" if job.attempt else ""
                path = self._loaded.paths.gtplogs / f"{job.id}{suffix}.log"
                of_faults = not self._options.log_gtp
                job = msgspec.structs.replace(
                    job, transcript=str(path), transcript_of_faults=of_faults
                )
            if isinstance(job, GameJob):
                codes = " v ".join(player.code for player in job.players)
                started.append(f"starting game {job.id}: {codes}")
            self._executor.submit(job)
        return started

    # recording

    def _loop(self) -> None:
        spare_time, unverified = SpareTime(), self._competition.unverified
        while self._executor.running() or (
            self._control.paused and not (self._is_ending() or self._competition.finished())
        ):
            self._control.check()
            if self._control.signals.received is not None:
                return
            # not at the limit of --max-games: all games that were made are played
            holds = self._control.holds or self._control.paused
            self._executor.is_held = bool(holds or self._halt or self._failure)
            self._copies.write_if_due()
            self._run_log.events.look()
            self._display.update(self._view)
            due = self._display.next_update()
            if self._executor.slots > self._slots and not self._control.paused:
                # a host has joined, or the user wants more games at a time
                if self._slots:
                    self._warn_of_crowding()
                self._commit(deque())
            wait = COMMAND_PERIOD if due is None else min(due, COMMAND_PERIOD)
            results = deque(self._wait(min(wait, SpareTime.PERIOD) if unverified else wait))
            try:
                spare_time.use(unverified)
            except DataFileError as error:
                self._end_by(error)
            while results:
                self._commit(results)
            self._control.signals.drain()
        self._display.update(self._view)

    def _wait(self, timeout: float) -> list[tuple[Task, Result]]:
        """Return the results that arrive; submit the job of a dead worker again.

        timeout  seconds
        """
        results: list[tuple[Task, Result]] = []
        events = self._executor.wait(timeout, self._control.wake_fds())
        self._show_error_lines()
        self._run_log.notices(self._executor.notices())
        for event in events:
            if isinstance(event, Done):
                assert not isinstance(event.job, CheckJob)
                assert not isinstance(event.result, CheckResult)
                results.append((event.job, event.result))
            else:
                summary, *details = event.reason.splitlines() or [""]
                is_game = isinstance(event.job, GameJob)
                again = "game {} is played again" if is_game else "job {} is done again"
                assert not isinstance(event.job, CheckJob)
                players = " v ".join(event.job.who)
                line = f"{again.format(event.job.id)} ({players}): {summary}"
                if event.told:
                    self._journal.log(line)
                else:
                    self._run_log.warn(line)
                for line in details:
                    self._journal.log(line)
                self._executor.submit(event.job)
        return results

    def _show_error_lines(self) -> None:
        if self._error_lines is not None:
            self._display.engine_errors(self._error_lines.take())

    def _commit(self, results: deque[tuple[Task, Result]]) -> None:
        """Store results and issue the next jobs in one transaction, then write files and log.

        Results that arrive before the next commit is due share the transaction.  The store
        keeps one line of the tree log, so a reaction with such a line ends the transaction,
        and the remaining `results` wait for the next.
        """
        self._loaded.conditions.builds.take_sums(self._executor.programs())
        committed: list[_StoredResult] = []
        #: Results and log lines of new games, in their order.
        events: list[tuple[Result, Reaction] | str] = []
        full = False
        with self._journal.together():
            with self._transaction() as transaction:
                while True:
                    while results and not full:
                        stored = self._store_result(transaction, *results.popleft())
                        if stored is not None:
                            committed.append(stored)
                            events.append((stored.result, stored.reaction))
                            full = bool(stored.reaction.snapshot)
                    events += self._issue(transaction)
                    remaining = self._next_commit - time.monotonic()
                    ending = self._halt or self._control.signals.received is not None
                    if full or ending or remaining <= 0 or not self._executor.running():
                        break
                    results.extend(self._wait(remaining))
                history = [
                    line for c in committed for line in (c.reaction.line, *c.reaction.notes) if line
                ]
                if committed:
                    transaction.set_value("history", history)
                    self._game_records.forget(transaction)
                self._save_state(transaction, committed)
                self._store_hosts(transaction)
            self._next_commit = time.monotonic() + self._period
            # after the commit: a kill from here on loses nothing
            self._journal.history(history)
            self._game_records.write([c.record for c in committed if c.record is not None])
            self._run_log.results(events, halted=bool(self._halt))

    def _store_result(
        self, transaction: Transaction, job: Task, result: Result
    ) -> _StoredResult | None:
        """Store a result and pass it to the competition.

        Return None for a result that the store has: its worker was believed dead.
        """
        void = result.outcome == "void"
        record = None
        if not isinstance(result, EvaluationResult) and result.record is not None:
            suffix = f"_{job.attempt}" if void else ""
            name = f"{job.id}{suffix}.{result.record_suffix}"
            folder = self._loaded.paths.void if void else self._loaded.paths.games
            record = PendingRecord(folder.name, name, result.record)
        conditions = self._loaded.conditions
        try:
            if result.reason == REBUILT:
                code, _, what = result.detail.partition(": ")
                raise EngineRebuilt(what, code)
            result, builds = conditions.identify(job, result, time.time())
        except EngineRebuilt as error:
            self._drop_rebuilt(job, result, error)
            return None
        result = self._competition.complete_result(job, result)
        fingerprint = result.fingerprint if isinstance(result, GameResult) else None
        if fingerprint is not None and transaction.has_game(fingerprint):
            result = msgspec.structs.replace(result, repeats=True)
        if transaction.store_result(job.ticket, result) is None:
            return None
        reaction = self._competition.record_result(job.ticket, result)
        conditions.take(result)
        for number, build in builds:
            transaction.put_build(number, build)
        if reaction.replay:
            again = IssuedJob(job.id, job.attempt + 1, job.ticket)
            transaction.issue(again)
            self._replays.append(again)
        self._halt = self._halt or reaction.halt
        if reaction.snapshot:
            transaction.set_value("tree", reaction.snapshot)
        for number in reaction.forget:
            transaction.drop_scores(number)
        if record is not None:
            record = transaction.add_pending(record)
        return _StoredResult(result, reaction, record)

    def _drop_rebuilt(self, job: Task, result: Result, error: EngineRebuilt) -> None:
        """Play a job of a rebuilt engine on another host, or in a later run: it stays issued."""
        player = self._loaded.conditions.contestant(error.code)
        reason = f"player {player!r}: {error}"
        if self._executor.refuse(result.host, reason):
            self._executor.submit(job)
        elif not self._halt:
            self._halt = f"{reason}; {' '.join(remedies(player))}"
            unit = self._competition.unit
            self._run_log.warn(f"warning: {reason}; waiting for {unit} in progress")

    def _store_hosts(self, transaction: Transaction) -> None:
        """Store what is new of hosts that are not used, and of other runs on the cluster."""
        conditions = self._loaded.conditions
        refused, sharing = self._executor.refused(), self._executor.sharing()
        if refused != conditions.refused_hosts:
            conditions.refused_hosts = refused
            transaction.set_value(REFUSED_HOSTS, refused)
        if sharing != conditions.sharing:
            conditions.sharing = sharing
            transaction.set_value(SHARING, sharing)

    def _save_state(self, transaction: Transaction, committed: Sequence[_StoredResult]) -> None:
        """Store the state if it is small, enough results are new, or a reaction requires it.

        A restart rebuilds the rest from the results, and the cost of a game stays constant.
        """
        self._unsaved += len(committed)
        required = any(c.reaction.save for c in committed)
        small = self._state_size <= SMALL_STATE
        if required or small or self._unsaved * BYTES_A_RESULT >= self._state_size:
            self._save_now(transaction)

    def _save_now(self, transaction: Transaction) -> None:
        if not self._has_lost_job:
            self._state_size = transaction.save_state(self._competition.state())
            self._unsaved = 0

    def _view(self) -> DisplayView:
        limit = self._options.max_games
        return self._run_log.view(self._executor, self._play_began, limit, self._control)
