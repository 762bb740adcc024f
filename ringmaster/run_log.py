"""The words of a run for the log, the tree log and the display."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from ringmaster.competitions.competition import Reaction
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.jobs import CheckJob, Job
from ringmaster.model.results import EvaluationResult, Result
from ringmaster.reporting.live import Display, DisplayView, RunningGame
from ringmaster.storage.journal import Journal

#: Numbers of results and of warnings on the display.
RECENT, WARNINGS = 50, 5
#: A verdict is computed again after this many times its own duration.
VERDICT_PAUSE = 20


class RunLog:
    """Reports results and messages of one run, after their commit.

    completed  number of results in this run, void games left out
    recent     the last results, a line each
    warnings   the last warnings
    """

    def __init__(self, journal: Journal, display: Display, loaded: LoadedCompetition) -> None:
        self._journal = journal
        self._display = display
        self._loaded = loaded
        self._unit = loaded.competition.unit
        self.completed = 0
        #: The last verdict, and the time (monotonic clock) at which another is due.
        self._verdict, self._verdict_due = "", 0.0
        self.recent: list[str] = []
        self.warnings: list[str] = []

    def warn(self, line: str) -> None:
        """Log a warning and show it until newer warnings replace it."""
        self.warnings.append(line)
        del self.warnings[:-WARNINGS]
        self._display.warning(line)
        self._journal.log(line)

    def say(self, line: str) -> None:
        """Log a message and show it."""
        self._display.message(line)
        self._journal.log(line)

    def results(self, committed: Iterable[tuple[Result, Reaction]], *, halted: bool) -> None:
        """Log and show stored results with the competition's reactions.

        halted  whether the run ends after the games in progress
        """
        shown: list[str] = []
        for result, reaction in committed:
            if reaction.snapshot:
                self._journal.snapshot(reaction.snapshot)
            if result.outcome == "void":
                self._display.results(shown)
                shown.clear()
                self.warn("\n".join([reaction.line, *result.detail.splitlines()[1:]]))
                if reaction.warning:
                    self.warn(reaction.warning)
                if halted:
                    self._display.message(f"waiting for {self._unit} in progress")
            else:
                self.completed += 1
                for line in filter(None, (reaction.log, reaction.line)):
                    self._journal.log(line)
                if not isinstance(result, EvaluationResult) and result.forfeit:
                    self._journal.log(f"{result.id}: {result.detail}")
                if reaction.line:
                    shown.append(reaction.line)
            for code, line in result.stderr:
                self._journal.log(f"{result.id} {code} stderr: {line}")
            if reaction.line:
                self.recent.append(reaction.line)
        self._display.results(shown)
        del self.recent[:-RECENT]

    def _latest_verdict(self) -> str:
        """Return the verdict, perhaps of a moment ago: ratings of many players take a while."""
        now = time.monotonic()
        if now >= self._verdict_due:
            self._verdict = self._loaded.competition.verdict()
            done = time.monotonic()
            self._verdict_due = done + VERDICT_PAUSE * (done - now)
        return self._verdict

    def view(self, in_progress: Sequence[Job], started: float, parallel: int) -> DisplayView:
        """Return the contents of the display.

        in_progress  jobs of busy workers
        started      start of the run, in seconds of the monotonic clock
        parallel     games at a time
        """
        competition = self._loaded.competition
        description = self._loaded.control_file.values["description"]
        return DisplayView(
            heading=f"{competition.type_name}: {self._loaded.code}",
            description=(description or "").strip(),
            started=started,
            progress=competition.progress(),
            completed_this_run=self.completed,
            running=[
                RunningGame(job.id, job.who) for job in in_progress if not isinstance(job, CheckJob)
            ],
            report=competition.live_report(),
            results=list(self.recent),
            warnings=list(self.warnings),
            parallel=parallel,
            verdict=self._latest_verdict(),
            hint=f"Ctrl-X to stop after these {self._unit}, Ctrl-C to stop at once",
        )
