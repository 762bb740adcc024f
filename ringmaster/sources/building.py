"""Build commits in the user's cache, and run the engines' benchmarks.

A build has a folder of its own: `tree` with the commit's files, where the build line runs, the
logs, and at last an empty file `built`.  A folder without it is of a build that failed or was
killed; the next one begins anew.  Its path is final from the beginning, for programs that know
where they were built.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from ringmaster.engines import reaper
from ringmaster.engines.process import EngineProcess, Surroundings
from ringmaster.errors import SettingError, similar, visible
from ringmaster.execution.processes import Reaper
from ringmaster.model.output_files import cache_folder, writing
from ringmaster.model.players import Source
from ringmaster.sources.repository import ELSEWHERE, WORKTREE, Repository

#: Seconds for a build and for a benchmark.
BUILD_LIMIT: Final = 1800
BENCH_LIMIT: Final = 300
#: Lines of a log in an error.
_LAST_LINES: Final = 30
#: Prints what makes another program of the same commit: compilers, their variables and the CPU.
_MACHINE: Final = """
for compiler in "$CC" "$CXX" cc c++ clang clang++ rustc; do $compiler --version; done
echo "$CFLAGS $CXXFLAGS $CPPFLAGS $LDFLAGS $RUSTFLAGS"
grep "^model name\\|^flags" /proc/cpuinfo | sort -u
"""
#: Nodes, and nodes a second, in a line of a benchmark's output without punctuation.
_NODES: Final = re.compile(
    r"(?:nodes(?: searched)?|bench) (\d+)|(\d+) nodes(?! (?:s|sec|second|per)\b)", re.IGNORECASE
)
_SPEED: Final = r"(?:nps|nodes (?:per )?s(?:ec(?:ond)?)?)"
_NPS: Final = re.compile(rf"{_SPEED} (\d+)|(\d+) {_SPEED}\b", re.IGNORECASE)
#: The number of nodes in a commit's message, as fishtest and OpenBench read it.
_PROMISED: Final = re.compile(r"^\s*bench(?:mark)?[ :=]+(\d+)\s*$", re.IGNORECASE | re.MULTILINE)


def provide(
    source: Source,
    player: Mapping[str, Any],
    recorded: Source | None,
    known: Iterable[Source],
    others: Iterable[Source],
    say: Callable[[str], None],
) -> Source:
    """Build a player's program unless its build is there; return its source with the facts.

    player    arguments of Player(…)
    recorded  the source of earlier runs, whose commit counts if its ref is the same
    known     sources with numbers of nodes
    others    of the competition; changes that one of them tests are no oversight

    Raises SettingError, with the end of a log.
    """
    if recorded is not None and (recorded.git, recorded.ref) != (source.git, source.ref):
        recorded = None
    folder = None
    if recorded is not None and recorded.build == source.build:
        # whatever the compiler is now
        folder = Path(recorded.folder).parent
        folder = folder if (folder / "built").exists() else None
    repository, message = None, ""
    try:
        repository = Repository(player["git"])
        has_worktree = (source.git, WORKTREE) in [(other.git, other.ref) for other in others]
        if repository.is_local and recorded is None and not has_worktree:
            repository.check_clean(source.ref)
        commit, changes = repository.resolve(source.ref)
    except SettingError as error:
        if recorded is None or not (folder or repository):
            raise
        say(f"warning: {error.message}; the run goes on with commit {recorded.label}")
    else:
        date, subject, message = repository.show(commit, "%cs%n%s%n%B").split("\n", 2)
        facts = {"date": date, "subject": visible(subject)[:100]}
        source = replace(source, commit=commit, changes=changes, **facts)
    if recorded is not None:
        if source.commit and source.label != recorded.label:
            say(
                f"warning: {source.ref!r} of {source.git} is at commit {source.label} now, and the "
                f"run goes on with {recorded.label}; run --update-refs takes the new one"
            )
            message = ""
        names = ("commit", "changes", "date", "subject")
        source = replace(source, **{name: getattr(recorded, name) for name in names})
    recorded = recorded if folder else None
    folder = folder or _folder(source, player["git"])
    source = replace(source, folder=str(folder / "tree"))
    with writing(folder), _locked(folder, say):
        if repository is not None and not (folder / "built").exists():
            say(f"building {source.git}, {source.ref}: {source.label} {source.subject!r}")
            _build(source, repository, folder)
        _check_program(Path(source.folder), source.program)
        return _benched(source, recorded, player, message, known) if source.bench else source


def _build(source: Source, repository: Repository, folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    repository.check_out(source.commit, source.changes, folder / "tree")
    if source.build:
        command = ["/bin/sh", "-c", source.build]
        _run("build", command, folder, BUILD_LIMIT, cwd=source.folder)
    (folder / "built").touch()


def _check_program(tree: Path, program: str) -> None:
    """Raise SettingError, with files that may be meant, if there is no program."""
    if (tree / program).is_file():
        return
    files = (path for path in tree.rglob("*") if path.is_file() and os.access(path, os.X_OK))
    made = [str(path.relative_to(tree)) for path in files if ".git" not in path.parts]
    like = [path for path in made if os.path.basename(path) == os.path.basename(program)]
    likely = like or similar(program, made, 5, 0.5) or sorted(made)[:5]
    raise SettingError(
        ("program",),
        f"the build makes no {program} (in {tree})",
        ", ".join(likely) or "a build line that makes it",
        [f"the log: {tree.parent / 'build.log'}"],
    )


def _benched(
    source: Source,
    recorded: Source | None,
    player: Mapping[str, Any],
    message: str,
    known: Iterable[Source],
) -> Source:
    """Return a source with the result of its benchmark: that of its recorded build, if any.

    Raises SettingError for another number of nodes than in the commit's message, or of the same
    commit elsewhere.
    """
    names = ("commit", "changes", "build", "program", "bench")
    alike = [o for o in known if all(getattr(o, name) == getattr(source, name) for name in names)]
    if recorded is not None and recorded in alike:
        return replace(source, nodes=recorded.nodes, nps=recorded.nps)
    log = Path(source.folder).parent / "bench.log"
    program = (f"{source.folder}/{source.program}", *player["program"][1:])
    words, environ = [*program, *shlex.split(source.bench)], player["environ"]
    _run("bench", words, log.parent, BENCH_LIMIT, cwd=player["cwd"], environ=environ)
    nodes, nps = counts(log.read_text(errors="replace"))
    if nodes is None:
        fault = f"the output of {source.program} {source.bench} has no number of nodes"
        remedy = "a line such as 'Nodes searched: 1234' or '1234 nodes 5678 nps'"
        raise SettingError(("bench",), fault, remedy, _ending(log))
    others = {o.nodes: "in an earlier run" for o in alike if o.nodes is not None}
    if source.bench == "bench" and (promised := promised_nodes(message)) is not None:
        others[promised] = "in the commit's message"
    for other, where in others.items():
        if other != nodes:
            raise SettingError(
                ("bench",),
                f"{source.program} {source.bench} of commit {source.label} searches {nodes:,} "
                f"nodes here, and {other:,} {where}: the build is another program (compiler, "
                "network, options), or its search is not deterministic",
                "the same compiler and network as there, or no bench",
            )
    return replace(source, nodes=nodes, nps=nps)


def promised_nodes(message: str) -> int | None:
    """Return the number of nodes in a commit's message, or None."""
    promised = _PROMISED.findall(message)
    return int(promised[-1]) if promised else None


def counts(output: str) -> tuple[int | None, int | None]:
    """Return nodes and nodes a second of a benchmark: the last ones that it prints."""
    found: dict[re.Pattern[str], int] = {}
    for line in output.splitlines():
        # lines of single searches, perhaps printed after the sum
        if not line.startswith("info "):
            text = re.sub(r"[^A-Za-z0-9]+", " ", re.sub(r"(?<=\d)[,_'](?=\d{3})", "", line))
            for pattern in (_NODES, _NPS):
                if match := pattern.search(text):
                    found[pattern] = int(match[1] or match[2])
    return found.get(_NODES), found.get(_NPS)


def _folder(source: Source, repository: str) -> Path:
    """Return the folder of a build: one for each repository, commit, build line and machine."""
    machine = subprocess.run(["/bin/sh", "-c", _MACHINE], capture_output=True, check=False).stdout
    what = repr((repository, source.commit, source.changes, source.build, machine))
    name = re.sub(r"\W+", "-", os.path.basename(repository).removesuffix(".git"))
    key = hashlib.sha256(what.encode()).hexdigest()[:8]
    return cache_folder("builds") / f"{name}-{source.commit[:10]}-{key}"


@contextmanager
def _locked(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a build's folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another ringmaster that builds {folder.name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(
    argument: str,
    command: Sequence[str],
    folder: Path,
    seconds: float,
    *,
    cwd: str | None,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Run a program with its output in a log.  It ends, with all its children, at its limit and
    with this process.

    argument  of Player(…), which is also the log's name

    Raises SettingError unless it succeeds.
    """
    log = folder / f"{argument}.log"
    # an engine that does not know its bench may print for ever
    limit = "ulimit -f 100000; " if argument == "bench" else ""
    script = f'unset {" ".join(ELSEWHERE)}; {limit}exec "$@" </dev/null >"$0" 2>&1'
    guard = Reaper(reaper.__file__)
    surroundings = Surroundings({}, reaper_fd=guard.fd)
    try:
        process = EngineProcess(
            ["/bin/sh", "-c", script, str(log), *command],
            cwd=cwd,
            environ=environ,
            surroundings=surroundings,
        )
        try:
            status = process.exit_status() if process.wait(seconds) else ""
        finally:
            process.end(patience=0.0)
    finally:
        guard.close()
    if status != "status 0":
        ending = f"ended with {status}" if status else f"took more than {seconds:g} s"
        raise SettingError((argument,), f"the {argument} {ending}", details=_ending(log))


def _ending(log: Path) -> list[str]:
    """Return the last lines of a log, and its path."""
    lines = visible(log.read_text(errors="replace")).splitlines() if log.exists() else []
    return [*lines[-_LAST_LINES:], f"the whole log: {log}"]
