"""The command line: actions, exit statuses, and messages for bad input."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ringmaster as package
from ringmaster.cli import run
from ringmaster.loaded_competition import LoadedCompetition
from tests.processes import LONG
from tests.program import (
    ENGINE,
    PLAYOFF,
    SPSA,
    environment,
    living_engines,
    ringmaster,
    shown,
    write_control_file,
)

DUEL = (
    f'Player([{sys.executable!r}, "-I", "-S", {str(ENGINE)!r}, "--outcome", "by-option"], nodes=1)'
)

GOOD = f"""competition_type = "playoff"
game = "chess"
players = {{
    "a": {DUEL},
    "b": {DUEL},
}}
openings = Openings("book.epd")
matchups = [Matchup("a", "b", number_of_games=4)]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_control_file(tmp_path, PLAYOFF, 4)  # for its book
    (tmp_path / "event.ctl").write_text(GOOD)
    return tmp_path


def outputs(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"event.ctl", "book.epd"}


COMPLAINING = GOOD.replace('"by-option"]', '"by-option", "--flood-stderr", "2"]')


@pytest.mark.process
def test_engines_standard_error_is_logged_or_shown(folder: Path) -> None:
    control = folder / "event.ctl"
    control.write_text(COMPLAINING)
    done = ringmaster(control)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0_0 a stderr: complaint 1\n" in control.with_suffix(".log").read_text()
    assert ringmaster(control, "reset", "-y").returncode == 0
    control.write_text(COMPLAINING + "stderr_to_log = False\n")
    done = ringmaster(control, "-q", "-j", "2")
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    games = {line.split()[0] for line in lines}
    # on a busy machine the first complaint arrives during the check
    assert games - {"check-a", "check-b"} == {"0_0", "0_1", "0_2", "0_3"}
    form = r"(0_\d|check-[ab]) [ab] stderr: complaint [01]"
    assert all(re.fullmatch(form, line) for line in lines)
    assert "complaint" not in done.stdout + control.with_suffix(".log").read_text()


@pytest.mark.process
def test_engines_standard_error_is_shown_while_the_game_is_played(folder: Path) -> None:
    control = folder / "event.ctl"
    # the game never ends
    hanging = COMPLAINING.replace('"2"]', '"2", "--hang-on", "go:2"]')
    control.write_text(
        hanging + "stderr_to_log = False\nskip_player_checks = True\nhang_timeout = 3600\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "ringmaster", str(control), "-q"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(),
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        # either engine may be the first
        assert process.stderr.readline() in {
            b"0_0 %s stderr: complaint 0\n" % p for p in (b"a", b"b")
        }
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.process
def test_run_plays_everything_prints_the_report_and_continues_with_more_games(folder: Path) -> None:
    done = ringmaster(folder / "event.ctl")
    assert (done.returncode, done.stderr) == (0, "")
    assert "game 0_0: " not in done.stdout
    assert "a v b (4/4 games)" in done.stdout
    written = ("status", "log", "hist", "report", "games", "games.pgn")
    assert outputs(folder) == {f"event.{x}" for x in written}
    assert "a v b (4/4 games)" in (folder / "event.report").read_text()
    (folder / "event.ctl").write_text(GOOD.replace("number_of_games=4", "number_of_games=6"))
    done = ringmaster(folder / "event.ctl", "--log-games")
    assert "changed since the last run: matchups" in done.stdout
    assert "changed since the last run" in (folder / "event.log").read_text()
    assert done.stdout.count("game 0_") == 2
    assert shown(folder / "event.ctl")["runs"] == 2


@pytest.mark.slow
def test_actions_follow_the_life_of_an_event(folder: Path) -> None:
    control = folder / "event.ctl"
    control.write_text(f"{GOOD}parallel = 3\n")
    assert run([str(control), "-q", "-g", "2"]) == 0
    assert shown(control)["games"] == {"completed": 2, "void": 0, "in_progress": 0, "total": 4}
    assert run([str(control), "-q", "-j", "1"]) == 0
    assert [info.parallel for info in package.load(control).runs] == [3, 1]
    assert shown(control)["games"]["completed"] == 4
    (folder / "event.report").unlink()
    assert run([str(control), "report"]) == 0
    assert "(4/4 games)" in (folder / "event.report").read_text()
    assert run([str(control), "reset", "--yes"]) == 0
    assert outputs(folder) == {"event.backups"}
    assert shown(control)["games"]["completed"] == 0


@pytest.mark.slow
def test_reset_lists_what_it_deletes_and_needs_a_yes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    control = folder / "event.ctl"
    assert run(["reset", str(control)]) == 0
    assert capsys.readouterr().out == "there is nothing to delete\n"
    assert run([str(control), "-q"]) == 0
    written = outputs(folder)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run(["reset", str(control)]) == 2
    out, err = capsys.readouterr()
    assert re.search(r"^  event.status +\d+\.?\d* kB  4 recorded results$", out, re.MULTILINE)
    assert re.search(r"^  event.games/ +\d+\.?\d* kB  4 files$", out, re.MULTILINE)
    assert all(name in out for name in written)
    assert err == "ringmaster: reset needs --yes where it cannot ask; nothing was deleted\n"
    assert outputs(folder) == written
    assert run(["reset", str(control), "-y"]) == 0
    assert outputs(folder) == set()


@pytest.mark.process
@pytest.mark.parametrize(("answer", "status", "stays"), [("n", 1, True), ("y", 0, False)])
def test_reset_asks_on_a_terminal(folder: Path, answer: str, status: int, stays: bool) -> None:
    pexpect = pytest.importorskip("pexpect")
    control = folder / "event.ctl"
    assert run([str(control), "-q"]) == 0
    child = pexpect.spawn(
        sys.executable,
        ["-m", "ringmaster", "reset", str(control)],
        env=environment(),
        timeout=LONG,
    )
    try:
        child.expect("4 recorded results")
        child.expect("Delete")
        child.sendline(answer)
        child.expect(pexpect.EOF)
    finally:
        child.close(force=True)
    assert child.exitstatus == status
    assert ("event.status" in outputs(folder)) == stays


def test_show_json_has_the_keys_of_its_type(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([str(folder / "event.ctl"), "show", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    conditions = summary.pop("conditions")
    assert [player["code"] for player in conditions["players"]] == ["a", "b"]
    assert conditions["openings"] == [{"of": None, "file": "book.epd"}]
    (matchup,) = summary.pop("matchups")
    assert summary == {
        "competition": "event",
        "competition_type": "playoff",
        "verdict": "no result yet: a v b, after 0 of 4 games",
        "doubts": [],
        "games": {"completed": 0, "void": 0, "in_progress": 0, "total": 4},
        "void_by_kind": {},
        "withdrawn": [],
        "stopped": [],
        "runs": 0,
        "changes": [],
    }
    assert {name: value for name, value in matchup.items() if value not in (0, None, {})} == {
        "id": "0",
        "name": "a v b",
        "players": ["a", "b"],
        "wins": [0, 0],
        "forfeits": [0, 0],
        "disputes": [0, 0],
        "forfeits_by_kind": [{}, {}],
        "doubts": [],
    }
    assert matchup.keys() >= {"games", "draws", "elo", "los", "pentanomial", "sprt", "endings"}
    assert outputs(folder) == set()


@pytest.mark.process
def test_check_prints_ok_or_the_errors_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([str(folder / "event.ctl"), "check", "--quick"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "player 'a': ok (Instant)",
        "player 'b': ok (Instant)",
    ]
    assert run([str(folder / "event.ctl"), "check", "--quick", "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert checked["ok"] is True
    assert checked["players"][0] == {"code": "a", "name": "Instant", "problems": []}
    (folder / "event.ctl").write_text(GOOD.replace('"b", number', '"x", number'))
    assert run([str(folder / "event.ctl"), "check", "--json"]) == 1
    checked = json.loads(capsys.readouterr().out)
    assert checked["ok"] is False
    assert any("no player 'x'" in line for line in checked["errors"])
    assert outputs(folder) == set()


GO_EVENT = """competition_type = "playoff"
board_size = 7
komi = 0.5
players = {{"a": Player({command!r}), "b": Player({command!r})}}
matchups = [Matchup("a", "b", number_of_games=2)]
"""


@pytest.mark.slow
def test_check_lists_warnings_and_with_v_passed_tests(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = folder / "event.ctl"
    engine = ENGINE.with_name("fault_gtp.py")
    command = [sys.executable, "-I", "-S", str(engine), "--crash-on", "quit"]
    control.write_text(GO_EVENT.format(command=command))
    assert run([str(control), "check"]) == 0
    text = capsys.readouterr().out
    assert "player 'a': ok (Filler:1.0)\n" in text
    assert re.search(r"  \d+ passed, 1 warned, 0 failed, in \d+\.\d s\n", text)
    assert re.search(r"  warn  quit +the engine exits with status 1", text)
    assert "  pass  " not in text
    assert run([str(control), "check", "-v"]) == 0
    assert re.search(r"  pass  game +20 plies", capsys.readouterr().out)
    assert run([str(control), "check", "--json"]) == 0
    (first, _) = json.loads(capsys.readouterr().out)["players"]
    assert first["problems"] == []
    assert {f["status"] for f in first["findings"]} == {"pass", "warn"}


@pytest.mark.slow
def test_engine_that_would_spoil_games_fails_its_check(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = folder / "event.ctl"
    command = [sys.executable, "-I", "-S", str(ENGINE.with_name("fault_gtp.py"))]
    control.write_text(GO_EVENT.format(command=[*command, "--illegal-move", "2"]))
    assert run([str(control), "check"]) == 1
    out, err = capsys.readouterr()
    assert "player 'a': not fit to play (Filler:1.0)" in out
    assert re.search(r"  FAIL  game +after 2 plies: illegal move ", out)
    assert "< = " in out
    assert "player 'a': game: after 2 plies: illegal move " in err


def test_of_a_tunes_candidates_one_is_checked_thoroughly(tmp_path: Path) -> None:

    loaded = LoadedCompetition(write_control_file(tmp_path, SPSA, 4))
    players = [job.player for job in loaded.competition.setup().checks]
    assert len(players) > 1
    assert len({loaded.engine_key(player) for player in players}) == 1


@pytest.mark.slow
def test_players_that_differ_by_values_only_are_checked_thoroughly_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = folder / "event.ctl"
    text = control.read_text()
    levels = "".join(
        f'    "{code}": {DUEL[:-2]}{limits}),\n'
        for code, limits in [("a", "1"), ("b", "2"), ("c", "1, depth=3"), ("d", "5, depth=2")]
    )
    start, end = text.index("players"), text.index("openings")
    control.write_text(
        f"{text[:start]}players = {{\n{levels}}}\n{text[end:]}".replace(
            "number_of_games=4)", 'number_of_games=4), Matchup("c", "d", number_of_games=4)'
        )
    )
    run([str(control), "check", "--json"])
    players = json.loads(capsys.readouterr().out)["players"]
    assert [(p["code"], "findings" in p, p.get("tested_as")) for p in players] == [
        ("a", True, None),
        ("b", True, "a"),
        ("c", True, None),
        ("d", True, "c"),
    ]
    assert [f["name"] for f in players[1]["findings"]] == ["game"]
    assert "game" in {f["name"] for f in players[0]["findings"]}
    run([str(control), "check"])
    lines = capsys.readouterr().out.splitlines()
    one = next(number for number, line in enumerate(lines) if line.startswith("player 'b': "))
    assert lines[one].startswith("player 'b': ok (")
    assert lines[one + 1].endswith(" s; its engine is tested as player 'a'")


@pytest.mark.process
def test_transcripts_of_all_games_or_of_faults_are_written_on_request(folder: Path) -> None:
    control = folder / "event.ctl"
    assert run([str(control), "-q", "-g", "1", "--log-gtp"]) == 0
    (log,) = (folder / "event.gtplogs").iterdir()
    transcript = log.read_text()
    assert re.search(r"a > position fen .*\n +[\d.]+ a > go nodes 1\n", transcript)
    assert re.search(r"a < bestmove [a-h][1-8][a-h][1-8]\n", transcript)
    assert run([str(control), "reset", "-y"]) == 0
    assert run([str(control), "-q", "-g", "2", "--log-faults"]) == 0
    assert not (folder / "event.gtplogs").exists()
    text = control.read_text()
    assert '"--outcome"' in text
    control.write_text(text.replace('"--outcome"', '"--illegal-move", "3", "--outcome"', 1))
    assert run([str(control), "-q", "--log-faults"]) == 0
    logs = {path.stem for path in (folder / "event.gtplogs").iterdir()}
    # the engine's third move is illegal, after two moves of the check of its limit
    assert logs == {"0_2"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ["no such file"]),  # the file is removed
        ('"chess"', '"chess', ["event.ctl:2:", "^"]),
        ("nodes=1", "nodes=0", ["event.ctl:4:", "players['a'].nodes", "at least 1"]),
        ('Matchup("a", "b"', 'Matchup("a", "x"', ["event.ctl:8:", "no player 'x'"]),
        ("number_of_games=4", "number_of_games=1/0", ["event.ctl:8:", "ZeroDivisionError"]),
        ("book.epd", "none.epd", ["event.ctl:7:", "openings", "none.epd: cannot read"]),
    ],
)
def test_bad_control_file_is_reported_with_its_place_and_writes_nothing(
    folder: Path, capfd: pytest.CaptureFixture[str], old: str, new: str, expected: list[str]
) -> None:
    control = folder / "event.ctl"
    if old:
        assert old in GOOD
        control.write_text(GOOD.replace(old, new))
    else:
        control.unlink()
    assert run([str(control)]) == 1
    message = capfd.readouterr().err
    for part in expected:
        assert part in message
    assert len(message.splitlines()) < 24
    assert "Traceback" not in message
    assert outputs(folder) <= {"event.log"}


def test_bad_opening_is_named_by_file_and_line(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    book = folder / "book.epd"
    book.write_text("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n8/8/8/8/8/8/8/8 w - -\n")
    assert run([str(folder / "event.ctl")]) == 1
    assert "book.epd:2: " in capfd.readouterr().err
    assert outputs(folder) == {"event.log"}


@pytest.mark.process
@pytest.mark.parametrize(
    ("player", "expected"),
    [
        ('Player("no-such-engine", nodes=1)', "no such program on PATH"),
        ('Player("book.epd", nodes=1)', "on PATH; expected './book.epd' for the file beside the"),
        ('Player("true", nodes=1)', "it exited with status 0"),
        (DUEL.replace("nodes", "options={'Strenth': 1}, nodes"), "it has 'Strength'"),
    ],
)
def test_player_that_fails_its_check_stops_the_run_before_the_first_game(
    folder: Path, capfd: pytest.CaptureFixture[str], player: str, expected: str
) -> None:
    control = folder / "event.ctl"
    control.write_text(GOOD.replace(f'"a": {DUEL}', f'"a": {player}'))
    assert run([str(control)]) == 1
    message = capfd.readouterr().err
    assert "event.ctl:4:" in message
    assert "player 'a': " in message
    assert expected in message
    assert outputs(folder) == {"event.log"}


@pytest.mark.slow
def test_changed_seed_is_refused_after_the_first_game(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    control = folder / "event.ctl"
    assert run([str(control), "-q", "-g", "1"]) == 0
    control.write_text(GOOD + "seed = 3\n")
    assert run([str(control)]) == 1
    assert "event.ctl:9:8: error: seed: 0 → 3 since the last run" in capfd.readouterr().err
    assert run([str(control), "reset", "--yes"]) == 0
    assert run([str(control), "-q"]) == 0


def test_version_and_help_exit_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"ringmaster {package.__version__}\n"
    assert run(["--help"]) == 0


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (OverflowError("timestamp too large to convert to C _PyTime_t"), 1, "past the year 2262"),
        (KeyError("a bug"), 4, "Please report it"),
    ],
)
def test_unexpected_error_is_told_with_its_status(
    error: Exception,
    status: int,
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(self: LoadedCompetition, *positional: object, **options: object) -> str:
        raise error

    monkeypatch.setattr(LoadedCompetition, "report_text", fail)
    assert run([str(folder / "event.ctl"), "show"]) == status
    text = capsys.readouterr().err
    assert message in text
    assert ("Traceback" in text) == (status == 4)


@contextmanager
def running(control: Path, *arguments: str, before: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Start a run, wait for its first games, and kill it at the end.

    before  a program that starts it
    """
    process = subprocess.Popen(
        [*before.split(), sys.executable, "-m", "ringmaster", str(control), "-q", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )
    try:
        _wait_for_games(control)
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.process
def test_second_run_is_refused_while_one_is_alive_and_only_then(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 100_000)
    with running(control):
        second = ringmaster(control, "-q")
        assert second.returncode == 1
        assert "is being run by another ringmaster" in second.stderr
        log = control.with_suffix(".log")
        log.rename(f"{log}.1")
        third = ringmaster(control, "-q")
        assert third.returncode == 1
        assert "is being run by another ringmaster" in third.stderr
        reset = ringmaster(control, "reset", "--yes")
        assert reset.returncode == 1
        assert shown(control)["games"]["completed"] > 0
        control.write_text(control.read_text() + "move_limit = 300\n")
        changes = ringmaster(control, "diff")
        assert changes.returncode == 0, changes.stderr
        assert "move_limit 1000 → 300, applies after" in changes.stdout
    assert shown(control)["games"]["in_progress"] == 0
    assert ringmaster(control, "-q", "-g", "1").returncode == 0


@pytest.mark.process
@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_run_whose_status_file_is_replaced_stops_and_rescues_its_results(
    tmp_path: Path, change: str
) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 100_000)
    with running(control) as process:
        control.with_suffix(".status").unlink()
        if change == "replaced":
            control.with_suffix(".status").write_bytes(b"")
        assert process.wait(LONG) == 1
    (rescued,) = tmp_path.glob("event.rescued-*.status")
    log = control.with_suffix(".log").read_text()
    assert "moved, deleted or replaced while the run was writing it: the run stops" in log
    assert living_engines(control) == []
    assert ringmaster(control, "restore", str(rescued)).returncode == 0
    before = shown(control)["games"]["completed"]
    assert before > 0
    assert ringmaster(control, "-q", "-g", "5").returncode == 0
    assert shown(control)["games"]["completed"] == before + 5


@pytest.mark.process
def test_stop_ends_a_run_after_its_games_in_progress(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 100_000)
    with running(control, "-j", "2") as process:
        assert ringmaster(control, "stop").returncode == 0
        assert process.wait(LONG) == 0
    assert "stopped by command" in control.with_suffix(".log").read_text()
    assert shown(control)["games"]["in_progress"] == 0
    assert living_engines(control) == []


def test_stop_without_a_run_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(folder / "event.ctl"), "stop"]) == 1
    assert "is not running" in capsys.readouterr().err
    assert outputs(folder) == set()


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_a_run_at_once_with_status_3(tmp_path: Path, number: signal.Signals) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 100_000)
    with running(control, "-j", "2") as process:
        os.kill(process.pid, number)
        assert process.wait(LONG) == 3
    assert f"interrupted by {number.name}" in control.with_suffix(".log").read_text()
    assert living_engines(control) == []
    before = shown(control)["games"]["completed"]
    assert ringmaster(control, "-q", "-g", "10").returncode == 0
    assert shown(control)["games"]["completed"] == before + 10


def _wait_for_games(control: Path) -> None:
    """Wait until the history has results, by following it as `tail -f` does."""
    with subprocess.Popen(
        ["tail", "-n", "+1", "-F", "--retry", str(control.with_suffix(".hist"))],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as tail:
        assert tail.stdout is not None
        for _ in range(20):
            assert tail.stdout.readline().startswith("game ")
        tail.kill()


@pytest.mark.process
def test_end_of_a_run_is_reported(folder: Path) -> None:
    control = folder / "event.ctl"
    stopped = ringmaster(control, "-g", "2").stdout.splitlines()
    verdict = "not decided yet: a v b 1-1, after 2 of 4 games; no Elo interval"
    (last,) = (line for line in stopped if "(2/4 games; run it again to resume)" in line)
    assert last.endswith(f"to resume): {verdict}")
    # it is directly above the report
    assert stopped[stopped.index(last) + 1 :][:2] == ["playoff: event", ""]
    assert stopped[-1] == verdict
    complete = ringmaster(control).stdout.splitlines()
    verdict = shown(control)["verdict"]
    assert f"competition complete (4/4 games): {verdict}" in complete
    assert complete[-1] == verdict
    report = (folder / "event.report").read_text().splitlines()
    assert report[:2] == ["playoff: event", verdict]
    assert report[-1] == verdict


@pytest.mark.process
def test_report_that_cannot_be_written_is_an_error_and_loses_nothing(folder: Path) -> None:
    # in the place of the file that becomes the report
    (folder / "event.report.new~").mkdir()
    done = ringmaster(folder / "event.ctl", "-q")
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr
    assert shown(folder / "event.ctl")["games"]["completed"] == 4


@pytest.mark.process
def test_nohup_protects_a_run(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 100_000)
    with running(control, before="nohup") as process:
        process.send_signal(signal.SIGHUP)
        assert ringmaster(control, "stop").returncode == 0
        assert process.wait(LONG) == 0


@pytest.mark.process
def test_parameter_that_should_be_an_integer_is_refused_before_the_first_game(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    control = write_control_file(tmp_path, SPSA, 10)
    source = control.read_text()
    whole = "start=300, min=0, max=1000, integer=True"
    control.write_text(source.replace(whole, whole.removesuffix(", integer=True")))
    assert run([str(control)]) == 1
    message = capfd.readouterr().err
    assert "parameters[0]: player 'duel': option 'Strength' cannot be" in message
    assert "expected integer=True in its Parameter" in message
    assert not control.with_suffix(".status").exists()


@pytest.mark.process
@pytest.mark.parametrize("action", ["show", "plan"])
def test_other_competition_types_are_not_imported(tmp_path: Path, action: str) -> None:
    control = write_control_file(tmp_path, SPSA, 10)
    program = (
        "import sys; from ringmaster.cli import run; run(sys.argv[1:]); "
        "print('ringmaster.competitions.tournaments.swiss' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(control), action],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.process
def test_refused_gtp_command_is_reported_once_at_its_parameter(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    control = tmp_path / "tune.ctl"
    control.write_text(
        "competition_type = 'spsa'\nimport sys\nboard_size, komi = 5, 7.5\n"
        "players = {'e': Player([sys.executable, '-m', 'ringmaster.demo', 'go'])}\n"
        "player = 'e'\nnumber_of_games = 2\nparameters = [\n"
        "    Parameter('other', 1, 0, 3, gtp='known_command'),\n"
        "    Parameter('mob', 50, 0, 200, integer=True, gtp='param mob %s'),\n]\n"
    )
    assert run([str(control), "check", "--quick"]) == 1
    message = capfd.readouterr().err
    assert "tune.ctl:9:52: error: parameters[1].gtp: player 'e': it refused " in message
    assert message.count("it refused") == 1


@pytest.mark.process
def test_ctrl_x_ends_a_run_after_its_games_in_progress(tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    control = write_control_file(tmp_path, PLAYOFF, 100_000)
    child = pexpect.spawn(
        sys.executable,
        ["-m", "ringmaster", str(control), "-j", "2"],
        env={**environment(), "TERM": "xterm"},
        dimensions=(30, 100),
        timeout=LONG,
    )
    try:
        child.expect("last results")
        child.send("\x18")
        child.expect("run it again to resume")
        child.expect(pexpect.EOF)
    finally:
        child.close(force=True)
    assert child.exitstatus == 0
    assert "stopped by Ctrl-X" in control.with_suffix(".log").read_text()
    assert shown(control)["games"]["in_progress"] == 0
    assert living_engines(control) == []


def run_action(
    capsys: pytest.CaptureFixture[str], control: Path, *arguments: str
) -> tuple[int, str]:
    """Run an action in this process; returns its status and all that it printed."""
    capsys.readouterr()
    status = run([str(control), *arguments])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def test_diff_of_an_event_that_was_not_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = folder / "event.ctl"
    assert run_action(capsys, control, "diff") == (0, "event has not been run yet\n")
    status, data = run_action(capsys, control, "diff", "--json")
    assert (status, json.loads(data)) == (
        0,
        {"competition": "event", "run": None, "changes": [], "effects": []},
    )
    assert outputs(folder) == set()


@pytest.mark.process
def test_diff_prints_all_changes_without_a_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = folder / "event.ctl"
    assert run([str(control), "-q", "-g", "2"]) == 0
    status, text = run_action(capsys, control, "diff")
    assert status == 0
    assert re.fullmatch(
        r"no changes since the last run \(run 1, \d{4}-\d\d-\d\d \d\d:\d\d\)\n", text
    )
    control.write_text(GOOD + "seed = 3\n")
    status, text = run_action(capsys, control, "diff")
    assert status == 1
    assert "changed since" not in text
    assert text.startswith("refused since the last run (run 1, ")
    edited = GOOD.replace("nodes=1", "nodes=2", 1) + 'description = "new"\n'
    control.write_text(edited)
    status, text = run_action(capsys, control, "diff")
    assert status == 0
    assert text.splitlines()[1:] == [
        "description None → 'new', applies at once",
        "players['a'].nodes 1 → 2, applies after 2 games",
    ]
    control.write_text(edited + "seed = 3\n")
    status, text = run_action(capsys, control, "diff")
    assert status == 1
    assert "players['a'].nodes 1 → 2" in text
    assert "event.ctl:10:8: error: seed: 0 → 3 since the last run: the results so far" in text
    assert "expected 0, or `reset` to start over\n   10 | seed = 3\n" in text
    status, text = run_action(capsys, control, "diff", "--json")
    assert status == 1
    assert [(c["setting"], c["allowed"], c["applies"]) for c in json.loads(text)["changes"]] == [
        ("seed", False, None),
        ("description", True, "at once"),
        ("players['a'].nodes", True, "after 2 games"),
    ]


@pytest.mark.slow
def test_show_and_check_print_changes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    control = folder / "event.ctl"
    assert run([str(control), "-q", "-g", "2"]) == 0
    control.write_text(GOOD.replace("nodes=1", "nodes=2", 1))
    change = "changed since the last run: players['a'].nodes 1 → 2, applies after 2 games\n"
    # the engine of these tests knows the moves of its script and no others
    for action in (("show",), ("check", "--quick")):
        status, text = run_action(capsys, control, *action)
        assert (status, change in text) == (0, True)
        status, text = run_action(capsys, control, *action, "--json")
        assert (status, json.loads(text)["changes"][0]["before"]) == (0, 1)
    control.write_text(control.read_text() + "seed = 3\n")
    for action in ("show", "check"):
        status, text = run_action(capsys, control, action)
        assert status == 1
        assert change in text
        assert "seed: 0 → 3" in text
        assert run([str(control), action, "--json"]) == 1
        data = json.loads(capsys.readouterr().out)
        assert [c["allowed"] for c in data["changes"]] == [False, True]
        assert any("seed: 0 → 3" in line for line in data["errors"])


@pytest.mark.process
def test_other_competition_type_is_a_refused_change_of_its_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control = folder / "event.ctl"
    assert run([str(control), "-q", "-g", "1"]) == 0
    write_control_file(folder, SPSA, 10)
    for action in ("diff", "run"):
        status, text = run_action(capsys, control, action)
        assert status == 1
        assert "competition_type: 'playoff' → 'spsa' since the last run: the last run was" in text
        assert text.count("error:") == 1


MOVED = """
import os
from os import environ
HERE = os.path.dirname(__file__)
BOOK = HERE + "/book.epd"
HELD = [players, {{"$": 1}}]
def make_candidate(Strength, Width):
    assert environ["SECRET"] and HERE and BOOK and HELD
    return Player([{python!r}, "-I", "-S", {engine!r}, "--outcome", "by-option"], nodes=1,
                  options={{"Strength": Strength}})
"""


@pytest.mark.process
def test_moved_folder_is_no_change_and_the_environment_is_not_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "do-not-keep-this")
    text = MOVED.format(python=sys.executable, engine=str(ENGINE))
    control = write_control_file(tmp_path / "one", SPSA, 20)
    whole = control.read_text() + text
    whole += "players['o'] = Player('./one', cwd='.')\n"
    control.write_text(whole)
    assert run([str(control), "-q", "-g", "2"]) == 0, capsys.readouterr()
    status_file = control.with_suffix(".status")
    assert b"do-not-keep-this" not in status_file.read_bytes()
    (tmp_path / "one").rename(tmp_path / "two")
    control = tmp_path / "two" / "event.ctl"
    output = run_action(capsys, control, "diff")[1]
    assert output.startswith("no changes since the last run"), output
    control.write_text(whole.replace("Player('./one'", "Player('./two'"))
    output = run_action(capsys, control, "diff")[1]
    assert "players['o'].command[0] './one' → './two', applies" in output


def test_everything_may_be_changed_until_something_was_played(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ringmaster.storage.entries import RunEntry
    from ringmaster.storage.store import Store

    control = folder / "event.ctl"
    loaded = LoadedCompetition(control)
    store = Store.open(loaded.paths.status)
    store.begin_run(RunEntry(0, 0.0, "0", loaded.control_file.origin.text, "0", loaded.settings))
    store.close()
    control.write_text(GOOD + "seed = 3\n")
    status, text = run_action(capsys, control, "diff")
    assert status == 0
    assert (
        "nothing has been played, everything may be changed):\nseed 0 → 3, applies at once" in text
    )
