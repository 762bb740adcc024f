"""Build commits in the user's cache, and run the engines' benchmarks.

A build has a folder of its own, <cache>/builds/<name>:

    tree        a clone with the commit's files, where the build line runs
    build.log   its output
    built.json  written last, with the results of benchmarks

A folder without built.json is of a build that failed or was killed; the next one begins anew.
Its path is final from the beginning, for programs that know where they were built.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from ringmaster.engines import reaper
from ringmaster.engines.process import EngineProcess, Surroundings
from ringmaster.errors import SettingError, counted, similar, visible
from ringmaster.execution.processes import Reaper
from ringmaster.model.output_files import cache_folder, replacing
from ringmaster.model.players import Source
from ringmaster.sources.repository import ELSEWHERE, WORKTREE, Commit, Repository

#: Seconds for a build and for a benchmark.
BUILD_LIMIT: Final = 1800
BENCH_LIMIT: Final = 300
#: Lines of a log in an error.
_LAST_LINES: Final = 30
#: Variables that choose a compiler or its options, and compilers.
_VARIABLES: Final = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "RUSTFLAGS")
_COMPILERS: Final = ("cc", "c++", "clang", "clang++", "rustc")
#: Nodes, and nodes a second, in a line of a benchmark's output without punctuation.
_NODES: Final = re.compile(
    r"(?:nodes(?: searched)?|bench) (\d+)|(\d+) nodes(?! (?:s|sec|second|per)\b)", re.IGNORECASE
)
_SPEED: Final = r"(?:nps|nodes (?:per )?s(?:ec(?:ond)?)?)"
_NPS: Final = re.compile(rf"{_SPEED} (\d+)|(\d+) {_SPEED}\b", re.IGNORECASE)
#: The number of nodes in a commit's message, as fishtest and OpenBench read it.
_PROMISED: Final = re.compile(r"^\s*bench(?:mark)?[ :=]+(\d+)\s*$", re.IGNORECASE | re.MULTILINE)

Say = Callable[[str], None]


class _Built(msgspec.Struct):
    """The content of built.json: nodes, and nodes a second, of each benchmark."""

    benches: dict[str, tuple[int, int | None]] = {}


class Chosen(msgspec.Struct):
    """A player's commit: the recorded one, or the present one of its ref.

    repository  None if it cannot be read, and the build is there
    """

    source: Source
    commit: Commit
    repository: Repository | None


def choose(
    source: Source, name: str, recorded: Source | None, say: Say, *, others: Iterable[Source] = ()
) -> Chosen:
    """Return the commit of a source: the recorded one of its ref, if there is any.

    name    the repository's folder, absolute, or its URL
    others  sources of the competition; changes that one of them tests are no oversight

    Raises SettingError.
    """
    kept = None
    if recorded and (recorded.git, recorded.ref) == (source.git, source.ref):
        kept = Commit(recorded.commit, recorded.changes, recorded.date, recorded.subject)
        if recorded.build == source.build and _is_built(Path(recorded.folder).parent):
            source = msgspec.structs.replace(source, folder=recorded.folder)
    try:
        repository = Repository(name)
        repository.fetch()
        if kept is None and (source.git, WORKTREE) not in [(o.git, o.ref) for o in others]:
            repository.check_clean(source.ref)
        commit = repository.resolve(source.ref)
    except SettingError as error:
        if recorded is None or kept is None or not source.folder:
            raise
        say(f"warning: {error.message}; the run goes on with commit {recorded.label}")
        return Chosen(source, kept, None)
    if kept is not None and (commit.hash, commit.changes) != (kept.hash, kept.changes):
        before, now = (
            msgspec.structs.replace(source, commit=c.hash, changes=c.changes).label
            for c in (kept, commit)
        )
        say(
            f"warning: {source.ref!r} of {source.git} is at commit {now} now, and the run goes on "
            f"with {before}; run --update-refs takes the new one"
        )
        commit = kept
    return Chosen(source, commit, repository)


def build(chosen: Chosen, say: Say) -> Source:
    """Build a commit unless its build is there; return the source with its folder.

    A recorded build is taken as it is, whatever the compiler is now.

    Raises SettingError with the end of the log.
    """
    source, commit, repository = chosen.source, chosen.commit, chosen.repository
    folder = Path(source.folder).parent
    if not source.folder:
        assert repository is not None
        folder = _folder(source, commit, repository)
    tree, log = folder / "tree", folder / "build.log"
    source = msgspec.structs.replace(
        source,
        commit=commit.hash,
        changes=commit.changes,
        date=commit.date,
        subject=commit.subject,
        folder=str(tree),
    )
    with _locked(folder, say):
        if repository is not None and not _is_built(folder):
            if folder.exists():
                shutil.rmtree(folder)
            folder.mkdir()
            say(f"building {source.git}, {source.ref}: {source.label} {source.subject!r}")
            began = time.monotonic()
            repository.check_out(commit.hash, commit.changes, tree)
            if source.build:
                words = ["/bin/sh", "-c", source.build]
                _run(words, log, str(tree), {}, BUILD_LIMIT, "build")
            say(f"built in {time.monotonic() - began:.0f} s: {folder}")
            _write(folder, _Built())
        _check_program(tree, source.program)
    return source


def run_bench(
    source: Source,
    message: str,
    player: Mapping[str, Any],
    say: Say,
) -> Source:
    """Run the benchmark of a program that was built, unless its result is known.

    message  of the commit
    player   arguments of Player(…), with the command

    Raises SettingError, also for another number of nodes than in the message.
    """
    words = shlex.split(source.bench)
    command = [*player["command"], *words]
    folder, key = Path(source.folder).parent, shlex.join([source.program, *command[1:]])
    with _locked(folder, say):
        built = msgspec.json.decode((folder / "built.json").read_bytes(), type=_Built)
        if key not in built.benches:
            log = folder / "bench.log"
            say(f"running {source.program} {source.bench}")
            _run(command, log, player["cwd"], player["environ"] or {}, BENCH_LIMIT, "bench")
            nodes, nps = counts(log.read_text(errors="replace"))
            if nodes is None:
                fault = f"the output of {source.program} {source.bench} has no number of nodes"
                remedy = "a line such as 'Nodes searched: 1234' or '1234 nodes 5678 nps'"
                raise SettingError(("bench",), fault, remedy, _ending(log))
            built.benches[key] = nodes, nps
            _write(folder, built)
    nodes, nps = built.benches[key]
    promised = promised_nodes(message)
    # the message is about the usual benchmark
    if promised not in (None, nodes) and source.bench == "bench":
        raise _other_nodes(source, nodes, promised or 0, "in the commit's message")
    return msgspec.structs.replace(source, nodes=nodes, nps=nps)


def promised_nodes(message: str) -> int | None:
    """Return the number of nodes in a commit's message, or None."""
    promised = _PROMISED.findall(message)
    return int(promised[-1]) if promised else None


def check_nodes(source: Source, known: Iterable[Source]) -> None:
    """Raise SettingError if a build of the same commit had another number of nodes."""
    for other in known:
        names = ("commit", "changes", "build", "program", "bench")
        is_same = all(getattr(source, name) == getattr(other, name) for name in names)
        if is_same and None not in (source.nodes, other.nodes) and source.nodes != other.nodes:
            raise _other_nodes(source, source.nodes or 0, other.nodes or 0, "in an earlier run")


def _other_nodes(source: Source, nodes: int, before: int, where: str) -> SettingError:
    return SettingError(
        ("bench",),
        f"{source.program} {source.bench} of commit {source.label} searches {nodes:,} nodes here, "
        f"and {before:,} {where}: the build is another program (compiler, network, options), or "
        "its search is not deterministic",
        "the same compiler and network as there, or no bench",
    )


def counts(output: str) -> tuple[int | None, int | None]:
    """Return nodes and nodes a second of a benchmark: the last ones that it prints."""
    nodes: int | None = None
    nps: int | None = None
    for line in output.splitlines():
        # lines of single searches, perhaps printed after the sum
        if line.startswith("info "):
            continue
        text = re.sub(r"[^A-Za-z0-9]+", " ", re.sub(r"(?<=\d)[,_'](?=\d{3})", "", line))
        if match := _NPS.search(text):
            nps = int(match[1] or match[2])
        if match := _NODES.search(text):
            nodes = int(match[1] or match[2])
    return nodes, nps


def _is_built(folder: Path) -> bool:
    return (folder / "built.json").exists()


def _folder(source: Source, commit: Commit, repository: Repository) -> Path:
    """Return the folder of a build: one for each repository, commit, build line, compiler and kind
    of CPU."""
    names = [os.environ[name] for name in ("CC", "CXX") if os.environ.get(name)]
    versions = [_version(name) for name in (*names, *_COMPILERS)]
    variables = [os.environ.get(name) for name in _VARIABLES]
    what = (repository.name, commit.hash, commit.changes, source.build, versions, variables, _cpu())
    key = hashlib.sha256(repr(what).encode()).hexdigest()[:8]
    name = re.sub(r"[^\w.-]+", "-", os.path.basename(source.git.rstrip("/")).removesuffix(".git"))
    return cache_folder("builds") / f"{name}-{commit.hash[:10]}-{key}"


def _version(compiler: str) -> str:
    command = [*shlex.split(compiler), "--version"]
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")


def _cpu() -> str:
    """Return the kind of CPU: homes are shared by machines, and -march=native by none."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return repr(sorted({line for line in lines if line.startswith(("model name", "flags"))}))


@contextmanager
def _locked(folder: Path, say: Say) -> Iterator[None]:
    """Hold the lock of a build's folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another ringmaster that builds {folder.name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(folder: Path, built: _Built) -> None:
    with replacing(folder / "built.json", sync=True) as file:
        file.write(msgspec.json.encode(built))


def _run(
    command: Sequence[str],
    log: Path,
    cwd: str | None,
    environ: Mapping[str, str],
    seconds: float,
    argument: str,
) -> None:
    """Run a program with its output in a log.  It ends, with all its children, at its limit and
    with this process.

    Raises SettingError unless it succeeds.
    """
    guard = Reaper(reaper.__file__)
    script = f'unset {" ".join(ELSEWHERE)}; exec "$@" </dev/null >"$0" 2>&1'
    try:
        process = EngineProcess(
            ["/bin/sh", "-c", script, str(log), *command],
            cwd=cwd,
            environ=environ,
            surroundings=Surroundings({}, reaper_fd=guard.fd),
        )
        try:
            has_ended = process.wait(seconds)
            status = process.exit_status() if has_ended else ""
        finally:
            process.end(patience=0.0)
    finally:
        guard.close()
    if status != "status 0":
        minutes = counted(round(seconds / 60), "minute")
        ending = f"ended with {status}" if has_ended else f"took more than {minutes}"
        raise SettingError((argument,), f"the {argument} {ending}", details=_ending(log))


def _ending(log: Path) -> list[str]:
    """Return the last lines of a log, and its path."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return [*map(visible, lines[-_LAST_LINES:]), f"the whole log: {log}"]


def _check_program(tree: Path, program: str) -> None:
    """Raise SettingError, with files that may be meant, if a build has made no program."""
    if (tree / program).is_file():
        return
    files = (path for path in tree.rglob("*") if path.is_file() and os.access(path, os.X_OK))
    paths = (path.relative_to(tree) for path in files)
    made = [str(path) for path in paths if ".git" not in path.parts and path.suffix != ".sh"]
    base = os.path.basename(program)
    like = [path for path in made if os.path.basename(path) == base]
    like += [path for path in similar(program, made, 5, 0.5) if path not in like]
    raise SettingError(
        ("program",),
        f"the build makes no {program} (in {tree})",
        ", ".join(like or sorted(made)[:5]) or "a build line that makes it",
        [f"the log: {tree.parent / 'build.log'}"],
    )
