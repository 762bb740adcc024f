"""The demo Go engine and the scripted KataGo answer the same commands in the same way."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import LONG

ROOT = Path(__file__).parent.parent.parent
DEMO = (sys.executable, "-m", "ringmaster.demo", "go")
KATAGO = (sys.executable, "-I", "-S", str(ROOT / "tests/engines/katago.py"))
KEPT_RULES = (
    *("tromp-taylor", "chinese", "chinese-ogs", "chinese-kgs", "japanese", "korean", "aga", "bga"),
    *(
        "new-zealand",
        "aga-button",
        '{"ko":"SITUATIONAL","scoring":"AREA","tax":"NONE","suicide":false}',
    ),
)
pytestmark = pytest.mark.process


def dialogue(command: tuple[str, ...], *lines: str) -> list[str]:
    """Return the responses to some commands, with quit at the end."""
    done = subprocess.run(
        command,
        input="\n".join([*lines, "quit", ""]),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=LONG,
        check=True,
    )
    *responses, last = done.stdout.rstrip().split("\n\n")
    assert last == "="
    assert len(responses) == len(lines)
    return [response.rstrip() for response in responses]


def groups(line: str) -> list[dict[str, str]]:
    """Return the values of each move of a line of analysis, "pv" with all its moves."""
    found = []
    for text in line.partition(" rootInfo ")[0].split("info move ")[1:]:
        head, _, pv = f"move {text}".partition(" pv ")
        words = head.split()
        found.append({**dict(zip(words[::2], words[1::2], strict=True)), "pv": pv.strip()})
    return found


@pytest.fixture(params=[DEMO, KATAGO], ids=["demo", "katago"])
def engine(request: pytest.FixtureRequest) -> tuple[str, ...]:
    command: tuple[str, ...] = request.param
    return command


def test_both_have_the_same_rules_by_the_same_names() -> None:
    lines = [line for name in KEPT_RULES for line in (f"kata-set-rules {name}", "kata-get-rules")]
    answers, answers_of_katago = (
        [json.loads(answer[2:]) for answer in dialogue(command, *lines)[1::2]]
        for command in (DEMO, KATAGO)
    )
    for rules in answers_of_katago:
        # the demo engine captures dead stones in any case
        del rules["friendlyPassOk"]
    assert answers == answers_of_katago
    assert answers[4]["scoring"] == "TERRITORY"


def test_one_rule_is_changed_and_the_others_stay(engine: tuple[str, ...]) -> None:
    answers = dialogue(
        engine,
        "kata-set-rules aga",
        "kata-set-rule ko simple",
        "kata-set-rule suicide true",
        "kata-set-rule ko ING",
        "kata-set-rule komi 5",
        "kata-get-rules",
    )
    assert [answer[0] for answer in answers] == list("===??=")
    rules = json.loads(answers[-1][2:])
    assert (rules["ko"], rules["suicide"], rules["whiteHandicapBonus"]) == ("SIMPLE", True, "N-1")


@pytest.mark.parametrize(
    "rules",
    [
        "ing1996",
        "",
        "[1]",
        '{"ko":"SPIRAL"}',
        '{"dead":1}',
    ],
)
def test_refused_rules_leave_the_old_ones(engine: tuple[str, ...], rules: str) -> None:
    answers = dialogue(engine, "kata-get-rules", f"kata-set-rules {rules}", "kata-get-rules")
    assert answers[1].startswith("? ")
    assert answers[0] == answers[2]
    if rules == "ing1996":
        assert "Unknown rules 'ing1996'" in answers[1]


@pytest.mark.parametrize("dialect", ["kata", "lz"])
def test_analysis_comes_before_the_move(engine: tuple[str, ...], dialect: str) -> None:
    option = "rootInfo true" if dialect == "kata" else "interval 50"
    _, answer, score = dialogue(
        engine,
        "boardsize 9",
        f"7 {dialect}-genmove_analyze b 100 {option}",
        "final_status_list alive",
    )
    head, *lines, play = answer.split("\n")
    assert head.rstrip() == "=7"
    move = play.removeprefix("play ")
    assert score == f"= {move}"
    assert lines
    for line in lines:
        found = groups(line)
        assert len(found) > 1
        assert found[0]["move"] == move
        assert [int(group["order"]) for group in found] == list(range(len(found)))
        assert all(int(group["visits"]) > 0 for group in found)
        assert all(group["pv"].split()[0] == group["move"] for group in found)
        top = 1 if dialect == "kata" else 10000
        kind = float if dialect == "kata" else int
        assert all(0 <= kind(group["winrate"]) <= top for group in found)
        assert sum(kind(group["prior"]) for group in found) <= 1.01 * top
        assert all(("scoreLead" in group) == (dialect == "kata") for group in found)
        assert (" rootInfo visits " in line) == (dialect == "kata")


def test_parameters_are_listed_read_and_set(engine: tuple[str, ...]) -> None:
    names, *answers = dialogue(
        engine,
        "kata-list-params",
        "kata-set-param maxVisits 32",
        "kata-get-param maxVisits",
        "kata-set-param maxVisits 0",
        "kata-set-param maxVisits many",
        "kata-set-param komi 3",
        "kata-get-param komi",
        "kata-get-param maxVisits",
    )
    assert {"maxVisits", "maxPlayouts"} <= set(names[2:].split())
    assert [answer[0] for answer in answers] == list("==????=")
    assert answers[1] == answers[-1] == "= 32"


@pytest.mark.parametrize(
    "clock",
    [
        *("none", "absolute 60", "byoyomi 60 10.5 3", "canadian 60 10 25", "fischer 60 0.5"),
        "fischer-capped 60 0.5 -1 -1",
    ],
)
def test_clocks_of_all_forms_are_taken(engine: tuple[str, ...], clock: str) -> None:
    kinds, answer = dialogue(engine, "kata-list_time_settings", f"kata-time_settings {clock}")
    assert answer == "="
    assert {"none", "absolute", "byoyomi", "canadian", "fischer"} <= set(kinds.split())


def test_each_stone_has_a_status(engine: tuple[str, ...]) -> None:
    answers = dialogue(
        engine,
        "boardsize 9",
        "play b D4",
        "play w E5",
        "final_status_list alive",
        "final_status_list seki",
        "final_status_list dead",
        "final_status_list asleep",
    )
    assert {*answers[3][2:].split()} == {"D4", "E5"}
    assert answers[4:6] == ["=", "="]
    assert answers[6].startswith("? ")


def test_katago_of_the_tests_names_rules_that_its_net_does_not_support() -> None:
    commands = "kata-set-rules japanese", "kata-set-rule hasButton true", "kata-get-rules"
    _, refusal, rules = dialogue(KATAGO, *commands)
    assert refusal.startswith('? Rules {"friendlyPassOk":true,"hasButton":true,')
    assert refusal.endswith("} are not supported by this neural net version")
    assert '"hasButton":false' in rules


def test_katago_of_the_tests_prints_many_lines_a_given_one_or_none() -> None:
    ask = "kata-genmove_analyze b 10"
    assert len(dialogue((*KATAGO, "--lines", "1000"), ask)[0].split("\n")) == 1002
    moveless = "info visits 3 winrate 0.5"
    answer = dialogue((*KATAGO, "--analysis-line", moveless), ask)[0]
    assert answer.split("\n")[1:3] == [moveless, moveless]
    assert dialogue((*KATAGO, "--lines", "0"), ask)[0].split("\n")[1].startswith("play ")


def test_katago_of_the_tests_resigns_or_leaves_out_its_move() -> None:
    ask = "kata-genmove_analyze b 10"
    assert dialogue((*KATAGO, "--resign-at", "2"), ask, ask)[1].endswith("\nplay resign")
    _, answer = dialogue((*KATAGO, "--no-play-at", "2"), ask, ask)
    assert "\nplay" not in answer
    answers = dialogue((*KATAGO, "--dead", "D4"), "play b D4", "final_status_list dead")
    assert answers[1] == "= D4"


def test_katago_of_the_tests_starts_when_it_is_allowed_to(tmp_path: Path) -> None:
    fifo = tmp_path / "start"
    os.mkfifo(fifo)
    pipe = subprocess.PIPE
    command = (*KATAGO, "--start-after", str(fifo))
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        print("name\nquit", file=process.stdin, flush=True)
        # opening waits for the engine, which has answered nothing
        with fifo.open("w"):
            assert select.select([process.stdout], [], [], 0)[0] == []
        assert process.stdout.readline() == "= KataGo\n"
        assert process.wait(timeout=LONG) == 0
