"""What a run tells of itself in words: to the log, the tree log and the display."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ringmaster.competitions.competition import Verdict
from ringmaster.event import Event
from ringmaster.model.jobs import CheckJob, Job
from ringmaster.model.results import EvaluationResult, Result
from ringmaster.reporting.live import Display, RunningGame, View
from ringmaster.storage.journal import Journal

#: Results, and warnings, kept for the display.
RECENT, WARNINGS = 50, 5


class Chronicle:
    """The words of one run.  They come after the commit of what they tell of.

    completed  how many results have been told that count
    recent     the last results, a line each
    warnings   the last warnings
    """

    def __init__(self, journal: Journal, display: Display, event: Event) -> None:
        self._journal = journal
        self._display = display
        self._event = event
        self._unit = event.competition.unit
        self.completed = 0
        self.recent: list[str] = []
        self.warnings: list[str] = []

    def warn(self, line: str) -> None:
        """Tell what the user should know of."""
        self.warnings.append(line)
        del self.warnings[:-WARNINGS]
        self._display.warning(line)
        self._journal.log(line)

    def say(self, line: str) -> None:
        """Tell how the run goes on."""
        self._display.message(line)
        self._journal.log(line)

    def tell(self, told: Iterable[tuple[Result, Verdict]], *, halted: bool) -> None:
        """Tell of results that have been recorded, and what they mean.

        halted  whether one of them ends the run, once the games in progress have ended
        """
        shown: list[str] = []
        for result, verdict in told:
            if verdict.snapshot:
                self._journal.snapshot(verdict.snapshot)
            if result.outcome == "void":
                self._display.results(shown)
                shown.clear()
                self.warn("\n".join([verdict.line, *result.detail.splitlines()[1:]]))
                if verdict.warning:
                    self.warn(verdict.warning)
                if halted:
                    self._display.message(f"waiting for {self._unit} in progress")
            else:
                self.completed += 1
                for line in filter(None, (verdict.log, verdict.line)):
                    self._journal.log(line)
                if not isinstance(result, EvaluationResult) and result.forfeit:
                    self._journal.log(f"{result.id}: {result.detail}")
                if verdict.line:
                    shown.append(verdict.line)
            for code, line in result.stderr:
                self._journal.log(f"{result.id} {code} stderr: {line}")
            if verdict.line:
                self.recent.append(verdict.line)
        self._display.results(shown)
        del self.recent[:-RECENT]

    def view(self, in_progress: Sequence[Job], started: float, parallel: int) -> View:
        """Return the contents of the display.

        in_progress  jobs that workers play
        started      when the first of this run began, by the monotonic clock, in seconds
        parallel     games at a time
        """
        competition = self._event.competition
        description = self._event.loaded.values["description"]
        return View(
            heading=f"{competition.type_name}: {self._event.code}",
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
            hint=f"Ctrl-X to stop after these {self._unit}, Ctrl-C to stop at once",
        )
