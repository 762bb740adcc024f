"""The actions that play games: `run` and `verify`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from ringmaster.commands.console import columns, never_wait, say
from ringmaster.commands.loading import built, print_programs
from ringmaster.commands.serve import beside_a_run
from ringmaster.competitions.cluster_settings import available_resources
from ringmaster.competitions.tuning.player_tune import Tune
from ringmaster.engines import reaper
from ringmaster.errors import SettingError, UsageError
from ringmaster.execution.affinity import plan, usable_cpus
from ringmaster.execution.executor import ErrorLines, Executor
from ringmaster.execution.local import LocalExecutor
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.cluster import Cluster, check_encrypted
from ringmaster.reporting.keys import KeyReader
from ringmaster.reporting.terminal import make_display
from ringmaster.ringmaster import Ringmaster
from ringmaster.run_control import PAGE, RunOptions
from ringmaster.storage.lock import competition_lock

_WORK = "ringmaster.play.worker:contained_worker"


def run(arguments: argparse.Namespace) -> int:
    """Play games until the competition is complete or the run is stopped."""
    return _play(arguments, built(arguments))


def verify(arguments: argparse.Namespace) -> int:
    """Play more games of a tune's closing match."""
    loaded = built(arguments)
    competition = loaded.competition
    if not (isinstance(competition, Tune) and competition.has_closing_match):
        raise UsageError(
            "only spsa, texel, clop_tuner and optuna_tuner have a closing match, "
            f"not {competition.type_name}"
        )
    competition.verify(arguments.games)
    return _play(arguments, loaded)


def _play(arguments: argparse.Namespace, loaded: LoadedCompetition) -> int:
    never_wait()
    loaded.accepted.update(arguments.accept_build)
    loaded.paths.check_kinds()
    loaded.paths.check_first_run()
    cluster = chosen_cluster(arguments, loaded)
    if arguments.safe:
        if loaded.control_file.values["on_event"] is not None:
            error = SettingError(("on_event",), "--safe runs no such command", "no on_event")
            raise loaded.control_file.error([error])
        print_programs(loaded)
    display = make_display(
        sys.stdout, arguments.quiet, errors=sys.stderr, log_games=arguments.log_games
    )
    with ExitStack() as stack:
        error_lines = None
        if not loaded.control_file.values["stderr_to_log"]:
            error_lines = stack.enter_context(closing(ErrorLines()))
        executor = executor_maker(arguments, loaded, error_lines)
        stack.enter_context(competition_lock(loaded.paths.locked))
        # those of a killed run, and at the end those of killed workers
        loaded.paths.clear_live()
        stack.callback(loaded.paths.clear_live)
        keys = stack.enter_context(KeyReader(display.suspend, display.resume))
        loaded.paths.take_commands()
        page = ""
        if arguments.serve is not None:
            page = stack.enter_context(
                beside_a_run(loaded.paths.control, arguments.serve, arguments.safe)
            )
            if page and arguments.quiet:
                # nobody could guess it
                say(f"{PAGE}: {page}\n")
        options = RunOptions(
            arguments.max_games,
            arguments.log_gtp,
            arguments.log_faults,
            usable_cpus(arguments.affinity or None) if cluster is None else None,
            page,
        )
        status = Ringmaster(
            loaded,
            options,
            executor=executor,
            display=display,
            keys=keys,
            error_lines=error_lines,
        ).run()
    if not arguments.quiet:
        # the last message of the run, just above, ends with the verdict
        say(loaded.report_text(begins=False, columns=columns()))
    return status


def games_at_a_time(arguments: argparse.Namespace, loaded: LoadedCompetition) -> int:
    """Return the number of `-j`, else `parallel` of the control file."""
    parallel: int = arguments.parallel or loaded.control_file.values["parallel"]
    return parallel


def chosen_cluster(arguments: argparse.Namespace, loaded: LoadedCompetition) -> Cluster | None:
    """Return the cluster of `--cluster`, else of the control file; None for this machine.

    Raises UsageError.
    """
    declared: Cluster | None = loaded.control_file.values["cluster"]
    where: str | None = arguments.cluster
    if where == "off":
        return None
    if arguments.safe and declared is not None:
        if where is None:
            raise UsageError("--safe: the cluster of the control file is not used; --cluster off")
        declared = Cluster(resources=declared.resources)
    cluster = declared
    if where == "local":
        is_local = declared is not None and declared.kind == "local"
        cluster = declared if is_local else replace(declared or Cluster(), kind="local", options={})
    elif where is not None:
        cluster = replace(declared or Cluster(), kind="address", address=where, options={})
    if cluster is not None and cluster.kind == "address":
        is_allowed = cluster.insecure or arguments.insecure
        remedy = "insecure=True in Cluster(…)" if where is None else "--insecure"
        check_encrypted(cluster.address, is_allowed, remedy)
    if cluster is not None and arguments.affinity:
        raise UsageError("--affinity is for this machine; a cluster has `pin` in Cluster(…)")
    return cluster


def executor_maker(
    arguments: argparse.Namespace,
    loaded: LoadedCompetition,
    error_lines: ErrorLines | None = None,
) -> Callable[[], Executor]:
    """Return a function that starts the executor.  Raises UsageError.

    error_lines  where workers write the engines' standard error, None for nowhere
    """
    cluster = chosen_cluster(arguments, loaded)
    if cluster is not None:
        return _cluster_executor(arguments, loaded, cluster, error_lines)
    parallel = games_at_a_time(arguments, loaded)
    setup: dict[str, Any] = {"workers": parallel, "live": str(loaded.paths.live)}
    if arguments.affinity is not None:
        setup["cpus"] = plan(arguments.affinity or None, parallel)
    pass_fds = []
    if error_lines is not None:
        setup["error_lines"] = error_lines.write_fd
        pass_fds = [error_lines.write_fd]
    return lambda: LocalExecutor(
        _WORK,
        parallel,
        # the files as they are when the run begins
        setup={
            **setup,
            "builds": {p: to_builtins(s) for _, p, s in loaded.conditions.builds.sums()},
        },
        reaper=reaper.__file__,
        pass_fds=pass_fds,
        resources=available_resources(loaded.control_file.values),
    )


def _cluster_executor(
    arguments: argparse.Namespace,
    loaded: LoadedCompetition,
    cluster: Cluster,
    error_lines: ErrorLines | None,
) -> Callable[[], Executor]:
    # imported here: Dask is an extra, and slow to import
    from ringmaster.execution.dask_executor import DaskExecutor
    from ringmaster.execution.deployment import connect

    if arguments.affinity is not None:
        cluster = replace(cluster, pin=True)

    def start() -> Executor:
        checked = [job.player for job in loaded.setup().checks]
        players = {player.code: player for player in checked}
        timed = cluster.calibrate and cluster.calibrate.player
        fit = [p.code for p in checked if p.protocol != "gtp" and not p.resources]
        if timed and timed not in fit:
            fault = "is no player" if timed not in players else "speaks GTP or needs resources"
            raise loaded.control_file.error(
                [SettingError(("cluster", "calibrate"), f"{timed!r} {fault}", " or ".join(players))]
            )
        return DaskExecutor(
            _WORK,
            lambda: connect(cluster),
            cluster,
            reaper=reaper.__name__,
            players=checked,
            builds={name: sum.sha256 for name, _, sum in loaded.conditions.builds.sums()},
            most=arguments.parallel,
            name=loaded.code,
            error_lines=None if error_lines is None else error_lines.write_fd,
            resources=loaded.control_file.values["resources"],
        )

    return start
