"""The conditions that reports and `show --json` state, and CPUs that are too few."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ringmaster.conditions import SHARING, ReportedConditions
from ringmaster.execution.affinity import usable_cpus
from ringmaster.model.cluster import Host
from ringmaster.model.go_rules import NAMED
from ringmaster.model.jobs import CheckJob, EvaluationJob, GameSettings, Task
from ringmaster.model.players import Player
from ringmaster.model.report import Report
from ringmaster.model.results import CheckResult, EngineUsage, EvaluationResult, GameResult, Problem
from ringmaster.reporting.tables import render_report
from ringmaster.storage.store import Store
from tests.competitions.settings_of import call, make, uci
from tests.play.workers import one_worker
from tests.program import ENGINES, REPOSITORY, book, ringmaster
from tests.recorded import memory_store
from tests.test_tournaments import write

BOOK = call("Openings", str(REPOSITORY / "controlfiles" / "openings.epd"), order="random")
PLAYERS = {
    "a": uci(options={"hash": 64, "Threads": 2}),
    "b": uci(nodes=None, time_control="10+0.1"),
    "c": uci(depth=7),
}
CHESS: dict[str, Any] = {"game": "chess", "players": PLAYERS, "openings": BOOK}
AGAINST = {**CHESS, "player": "a", "opponent": "b", "candidate_colour": "alternating"}
PARAMETER = call("Parameter", "x", start=3, min=1, max=9, integer=True)
POSITIONS_SETTING = call("Positions", "/somewhere/positions.epd")


def events() -> dict[str, Any]:
    """A match, and tunes whose players are reported in different ways."""
    return {
        "playoff": make("playoff", matchups=[call("Matchup", "a", "b")], **CHESS),
        "mc_tuner": make(
            "mc_tuner",
            parameters=[call("Parameter", "x", split=2, scale=call("LINEAR", 1, 9))],
            exploration_coefficient=0.4,
            initial_visits=2,
            initial_wins=1,
            **AGAINST,
        ),
        "spsa": make(
            "spsa",
            parameters=[PARAMETER],
            player="a",
            pairing="reference",
            opponent="b",
            number_of_games=8,
            verify=call("Verify", 8, against="c"),
            **CHESS,
        ),
        "texel": make(
            "texel",
            parameters=[PARAMETER],
            player="a",
            positions=POSITIONS_SETTING,
            verify=call("Verify", 8, against="c", openings=call("Openings", "/own.epd")),
            **CHESS,
        ),
    }


def record(conditions: ReportedConditions, store: Store, job: Task, result: GameResult) -> None:
    """Record a result as a run does."""
    identified, builds = conditions.identify(job, result, 1.0)
    with store.transaction() as transaction:
        transaction.store_result(job.ticket, identified)
        for number, build in builds:
            transaction.put_build(number, build)
    conditions.take(identified)


def text_of(conditions: ReportedConditions) -> str:
    return render_report(Report(tuple(conditions.blocks(conditions.competition.summary()))))


def data_of(conditions: ReportedConditions) -> dict[str, Any]:
    return conditions.data(conditions.competition.summary())


def rows_of(conditions: ReportedConditions) -> dict[str, list[str]]:
    """Return the rows of the table by player, cells divided where two spaces are."""
    table = text_of(conditions).split("\n\n")[0]
    rows = [line.split("  ") for line in table.splitlines()]
    return {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}


@pytest.mark.parametrize("kind", list(events()))
def test_report_states_engine_limits_hash_threads_and_openings(kind: str) -> None:
    competition = events()[kind]
    conditions = ReportedConditions(competition)
    for job in [*competition.setup().checks, *competition.setup().checks]:
        own = f"Engine of {job.player.command[0]} 1.5"
        conditions.take_check(CheckResult(job.id, job.player.code, own, hash=32, threads=1))
    rows = rows_of(conditions)
    assert rows.pop("player") == ["engine", "limits", "hash MB", "threads"]
    first = "candidate" if kind.endswith("_tuner") else "a"
    assert rows[first] == ["Engine of engine 1.5", "nodes 100", "64", "2"]
    if "b" in rows:
        assert rows["b"] == ["Engine of engine 1.5", "10+0.1", "32", "1"]
    if "c" in rows:
        assert rows["c"] == ["Engine of engine 1.5", "nodes 100, depth 7", "32", "1"]
    expected = {
        "playoff": {"a", "b"},
        "mc_tuner": {"candidate", "b"},
        "texel": {"a", "c"},
    }
    assert set(rows) == expected.get(kind, {"a", "b", "c"})
    summary = data_of(conditions)
    assert [player["code"] for player in summary["players"]] == list(rows)
    assert {player["engine"] for player in summary["players"]} == {"Engine of engine 1.5"}
    assert summary["players"][0]["limits"]["nodes"] == 100
    assert (summary["players"][0]["hash"], summary["players"][0]["threads"]) == (64, 2)
    if kind == "texel":
        assert "openings of the closing match: own.epd" in text_of(conditions)
        assert summary["openings"] == [{"of": "the closing match", "file": "own.epd"}]
    else:
        assert "openings: openings.epd, order random" in text_of(conditions)
        assert summary["openings"] == [{"of": None, "file": "openings.epd", "order": "random"}]


def test_hosts_of_a_cluster_have_a_table_and_conditions_go_on_from_run_to_run() -> None:
    store = memory_store()
    playoff = make("playoff", matchups=[call("Matchup", "a", "b")], **CHESS)
    conditions = ReportedConditions(playoff)
    assert data_of(conditions)["hosts"] == []
    job = playoff.next_job()
    assert job is not None
    for n, (host, reason) in enumerate([("n1", "mate"), ("n2", "time"), ("n1", "crash")]):
        result = GameResult(f"0_{n}", 0, "draw", reason=reason, host=Host(host, None, 0.25 * n))
        record(conditions, store, job, result)
    table = [
        ["host", "games", "time", "losses", "faults", "load"],
        ["n1", "2", "0", "1", "0.25"],
        ["n2", "1", "1", "0", "0.25"],
    ]
    assert [line.split() for line in text_of(conditions).splitlines()[-3:]] == table
    conditions.take_check(CheckResult("check-b", "b", "Three", hash=8))
    record(conditions, store, job, GameResult("0_3", 0, "draw"))
    again = ReportedConditions(playoff)
    again.restore(store)
    assert data_of(again) == data_of(conditions)
    assert [line.split() for line in text_of(again).splitlines()[-3:]] == table
    assert data_of(again)["hosts"][0] == {
        "name": "n1",
        "games": 2,
        "time_losses": 0,
        "faults": 1,
        "load": 0.25,
        "speed": None,
    }


def test_other_runs_on_the_cluster_are_named_in_report_and_data() -> None:
    store = memory_store()
    conditions = ReportedConditions(make("playoff", matchups=[call("Matchup", "a", "b")], **CHESS))
    assert data_of(conditions)["sharing"] is None
    text = "the cluster is shared with other (share 1, priority 0)"
    with store.transaction() as transaction:
        transaction.set_value(SHARING, text)
    conditions.restore(store)
    assert data_of(conditions)["sharing"] == text
    assert text_of(conditions).splitlines()[-1] == text


def test_openings_of_matchups_are_distinguished() -> None:
    matchups = [
        call("Matchup", "a", "b"),
        call("Matchup", "a", "c", openings=None),
        call("Matchup", "b", "c"),
    ]
    text = text_of(ReportedConditions(make("playoff", matchups=matchups, **CHESS)))
    assert "openings of matchups 0, 2: openings.epd, order random\n" in text
    assert "openings of matchups 1: none\n" in text


def test_engine_names_come_from_results_without_a_check() -> None:
    usage = (EngineUsage("One 1.0", description="One 1.0\nkomi 7"), EngineUsage("Two"))
    for kind, competition in events().items():
        conditions = ReportedConditions(competition)
        job = None if kind == "texel" else competition.next_job()
        if job is None:
            codes: tuple[str, ...] = ("a",)
            player = competition.setup().checks[0].player
            task: Any = EvaluationJob("p", player, competition.settings, "", 0, 1)
            result: Any = EvaluationResult("p", 0, "evaluated", usage=usage[0])
        else:
            codes = tuple(
                {"spsa": "a", "mc_tuner": "candidate"}.get(kind, code) if code != "b" else code
                for code in job.who
            )
            task, result = job, GameResult(job.id, 0, "draw", usage=usage)
        assert conditions.identify(task, result, 0.0)[1], kind
        assert not conditions.identify(task, result, 0.0)[1], "nothing new"
        rows = rows_of(conditions)
        for code, used in zip(codes, usage, strict=False):
            assert rows[code][0] == used.name, kind
        # what candidates say of themselves is another with each
        told = f"player {codes[0]}: One 1.0\nkomi 7" in text_of(conditions)
        assert told == (task.who[0] == codes[0])


def test_engines_of_removed_players_stay_in_the_report() -> None:
    conditions = ReportedConditions(events()["playoff"])
    conditions.take_check(CheckResult("check-gone", "gone", "Old 1.0"))
    rows = rows_of(conditions)
    assert rows["gone"] == ["Old 1.0"]
    assert [player["code"] for player in data_of(conditions)["players"]] == ["a", "b"]


def test_void_games_and_failed_checks_give_no_engine_facts() -> None:
    competition = events()["playoff"]
    conditions = ReportedConditions(competition)
    job = competition.next_job()
    usage = (EngineUsage("wrong"), EngineUsage("wrong"))
    void = GameResult(job.id, 0, "void", usage=usage)
    assert conditions.identify(job, void, 0.0) == (void, [])
    conditions.take_check(CheckResult("check-a", "a", "wrong", problems=(Problem("it crashed"),)))
    assert "wrong" not in text_of(conditions)


def test_startup_check_reports_hash_and_threads_as_they_are_set() -> None:
    command = (sys.executable, str(ENGINES / "careful_uci.py"))
    settings = GameSettings("chess")
    for options, expected in (({}, (16, 1)), ({"hash": 32, "Threads": 4}, (32, 4))):
        player = Player("a", command, "uci", options=options, nodes=1)
        with one_worker("careful_uci") as worker:
            result = worker.run(CheckJob("c", player, settings))
        assert isinstance(result, CheckResult)
        assert (result.name, result.hash, result.threads) == ("Careful", *expected)


# CPUs


def crowding(parallel: int, cpus: int, games: int | None = None, **changes: Any) -> str:
    players = {"a": uci(**changes), "b": uci()}
    matchup = call("Matchup", "a", "b", number_of_games=games)
    playoff = make("playoff", game="chess", players=players, matchups=[matchup])
    return ReportedConditions(playoff).crowding(parallel, cpus)


EIGHT: dict[str, Any] = {"options": {"threads": 8}}


@pytest.mark.parametrize(
    ("parallel", "cpus", "changes", "words"),
    [
        (2, 2, {}, ""),
        (64, 2, {}, "64 CPUs, but 2 CPUs are usable: games do not end sooner; use -j 2"),
        (2, 8, EIGHT, "2 games at a time need 16 CPUs (player 'a' has 8 threads)"),
        (2, 8, {**EIGHT, "time_control": "1+0.1", "nodes": None}, "lose time and strength"),
        (1, 2, EIGHT, "use at most 2 threads an engine"),
        (1, 2, {"options": {"USI_Threads": 4}}, "player 'a' has 4 threads"),
        (1, 2, {"ponder": True}, ""),
        (2, 2, {"ponder": True}, "need 4 CPUs (both sides think at the same time"),
        # only the side that ponders thinks on the other's time
        (1, 8, {**EIGHT, "ponder": True}, "a game needs 9 CPUs"),
        # games that will be finished need none
        (64, 2, {"games": 2}, ""),
        (64, 2, {"games": 3}, "3 games at a time need 3 CPUs"),
    ],
)
def test_threads_pondering_and_games_left_decide_the_need_of_cpus(
    parallel: int, cpus: int, changes: dict[str, Any], words: str
) -> None:
    line = crowding(parallel, cpus, **changes)
    assert words in line
    assert bool(line) == bool(words)


def test_player_without_games_needs_no_cpu() -> None:
    players = {"a": uci(), "b": uci(), "fat": uci(options={"Threads": 8})}
    matchups = [call("Matchup", "a", "b"), call("Matchup", "a", "fat")]
    chess: dict[str, Any] = {"game": "chess", "players": players, "matchups": matchups}
    assert "player 'fat' has 8 threads" in ReportedConditions(make("playoff", **chess)).crowding(
        1, 2
    )
    withdrawn = make("playoff", **chess, withdrawn=["fat"])
    assert ReportedConditions(withdrawn).crowding(1, 2) == ""


def test_pondering_player_adds_its_threads_to_those_of_one_other() -> None:
    players = {code: uci(options={"Threads": 8}) for code in "ab"} | {"c": uci(ponder=True)}
    matchups = [call("Matchup", *pair) for pair in ("ab", "bc")]
    playoff = make("playoff", game="chess", players=players, matchups=matchups)
    assert "a game needs 9 CPUs" in ReportedConditions(playoff).crowding(1, 8)


@pytest.mark.parametrize(
    ("command", "startup", "ponders"),
    [
        (["katago", "gtp", "-override-config", "ponderingEnabled=true,maxVisits=9"], [], True),
        (["katago", "gtp", "-override-config", "maxVisits=9, ponderingEnabled = true"], [], True),
        (["katago", "gtp", "-override-config", "ponderingEnabled=false"], [], False),
        (["katago", "gtp"], ["kata-set-param ponderingEnabled true"], True),
        (["/opt/lz/leelaz", "-w", "net", "-g"], [], True),
        (["leelaz", "-w", "net", "--noponder"], [], False),
        (["gnugo", "--mode", "gtp", "leelaz"], [], False),
    ],
)
def test_pondering_of_gtp_engines_is_read_from_the_command(
    command: list[str], startup: list[str], ponders: bool
) -> None:
    player = call("Player", command, startup_gtp_commands=startup)
    conditions = go_conditions(player)
    assert data_of(conditions)["players"][0]["limits"]["ponder"] == ponders
    assert bool(conditions.crowding(1, 1)) == ponders


@pytest.mark.parametrize(
    ("command", "startup", "threads"),
    [
        (["katago", "gtp", "-override-config", "maxVisits=50,numSearchThreads = 12"], [], 12),
        (["katago", "gtp"], ["kata-set-param numSearchThreads 6"], 6),
        (["fuego"], ["uct_param_search number_threads 7"], 7),
        (["other", "-t", "9"], [], None),
    ],
)
def test_threads_of_gtp_engines_are_read_from_the_command(
    command: list[str], startup: list[str], threads: int | None
) -> None:
    player = call("Player", command, startup_gtp_commands=startup)
    conditions = go_conditions(player)
    assert data_of(conditions)["players"][0]["threads"] == threads
    assert bool(conditions.crowding(1, 2)) == (threads is not None)


@pytest.mark.process
def test_run_and_check_warn_about_too_few_cpus(tmp_path: Path) -> None:
    tail = 'matchups = [Matchup("a", "b", number_of_games=200)]'
    control = write(tmp_path, "playoff", tail)
    (tmp_path / "book.epd").write_text(book())
    warning = "warning: 64 games at a time need 64 CPUs"
    assert warning in ringmaster(control, "-j", "64", "-g", "1").stderr
    assert warning in control.with_suffix(".log").read_text()
    checked = ringmaster(control, "check", "--quick", "--json", "-j", "64")
    assert any(line.startswith(warning) for line in json.loads(checked.stdout)["warnings"])


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "100000 100000\n"}, 1),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/docker/x\n1:name=systemd:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            1,
        ),
        ({"proc/self/cgroup": "nonsense\n\n0::\n", "sys/fs/cgroup/cpu.max": "x"}, 1000),
    ],
)
def test_control_groups_limit_usable_cpus(tmp_path: Path, files: dict[str, str], most: int) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cpus(root=tmp_path) == min(most, usable_cpus(root=tmp_path / "-"))


def go_conditions(first: Any = None) -> ReportedConditions:
    players = {name: call("Player", name) for name in "abc"} | ({"a": first} if first else {})
    matchups = [call("Matchup", "a", "b")]
    return ReportedConditions(
        make("playoff", players=players, matchups=matchups, board_size=9, komi=7.5)
    )


def test_engines_with_other_rules_by_their_own_word_are_named() -> None:
    conditions = go_conditions()
    for code, rules in (("a", "chinese"), ("b", "tromp-taylor")):
        parts = json.dumps({**NAMED[rules].as_json(), "friendlyPassOk": code == "a"})
        conditions.take_check(CheckResult(f"check-{code}", code, rules=parts))
    assert conditions.rules_conflict() == (
        "a and b play by different rules of Go (ko SIMPLE and POSITIONAL, suicide False and True, "
        "whiteHandicapBonus N and 0, friendlyPassOk True and False); tell them the same, as in "
        "rules = 'chinese'"
    )


@pytest.mark.parametrize("answer", ["", "no idea", "[1]", json.dumps(NAMED["chinese"].as_json())])
def test_engines_that_say_nothing_else_of_their_rules_are_not_named(answer: str) -> None:
    conditions = go_conditions()
    for code, rules in (("a", json.dumps(NAMED["chinese"].as_json())), ("b", answer)):
        conditions.take_check(CheckResult(f"check-{code}", code, rules=rules))
    assert conditions.rules_conflict() == ""
