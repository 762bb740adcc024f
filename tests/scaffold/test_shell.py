"""`ringmaster import match.sh`: the match of a script, or a refusal with its line."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.cli import USAGE, run
from ringmaster.errors import UsageError
from ringmaster.scaffold.match_runners import recognises
from ringmaster.scaffold.shell import MatchCommand, match_command, without_prefixes

MATCH = "fastchess -engine cmd=/e/a name=a -engine cmd=/e/b name=b -each tc=10+0.1"


def command_of(text: str, **environ: str) -> MatchCommand:
    return match_command(text, "match.sh", Path("/run"), recognises, environ, Path("/script"))


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        command_of(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("prefix", "note"),
    [
        ("nice -n 10", "nice -n 10"),
        ("nice -10", "nice -10"),
        ("taskset -c 0-3", "taskset -c 0-3"),
        ("/usr/bin/time -f %e", "/usr/bin/time -f %e"),
        ("timeout -k 5 2h", "timeout -k 5 2h"),
        ("ionice -c 3 nohup", "nohup"),
    ],
)
def test_prefix_programs_are_skipped_with_a_note(prefix: str, note: str) -> None:
    words, environ, notes = without_prefixes([*prefix.split(), "fastchess", "-rounds", "2"])
    assert (words, environ) == (["fastchess", "-rounds", "2"], {})
    assert notes[-1] == f"{note} (start ringmaster so: {note} ringmaster …)"


@pytest.mark.parametrize("quoted", [True, False])
def test_prefixes_of_a_command_line_are_skipped(
    quoted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"OMP_NUM_THREADS=1 nice -n 10 {MATCH}"
    assert run(["import", *([line] if quoted else line.split())]) == 0
    out, err = capsys.readouterr()
    assert 'environ={"OMP_NUM_THREADS": "1"}' in out
    assert "not imported: nice -n 10 (start ringmaster so: nice -n 10 ringmaster …)" in err


def test_unknown_program_before_the_match_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "wrapped", *MATCH.split()]) == USAGE
    assert "'wrapped' before fastchess is not understood; leave it out" in capsys.readouterr().err


def test_script_with_variables_comments_and_continued_lines() -> None:
    command = command_of(
        """#!/bin/bash
# a comment with 'fastchess -engine'
set -e
cd "$(dirname "$0")"/games
NEW=./new   OLD="./old one"  # both
TC=${TC:-8+0.08}
ENGINES=(-engine cmd=$NEW name=new  # first
         -engine "cmd=$OLD" 'name=$old')
OPTS="-rounds 500"
OPTS+=' -repeat'
export EVAL=/nn
fastchess "${ENGINES[@]}" -each tc="$TC" \\
    $OPTS -event a\\ b > log 2>&1 &
"""
    )
    assert command.words == (
        *("fastchess", "-engine", "cmd=./new", "name=new"),
        *("-engine", "cmd=./old one", "name=$old", "-each", "tc=8+0.08"),
        *("-rounds", "500", "-repeat", "-event", "a b"),
    )
    assert (command.line, command.folder) == (12, Path("/script/games"))
    assert command.environ == {"EVAL": "/nn"}


def test_environment_variables_are_expanded() -> None:
    assert command_of(f"{MATCH} -rounds $ROUNDS", ROUNDS="7").words[-1] == "7"
    assert command_of(f"{MATCH} -concurrency $(nproc)").words[-1] == str(os.cpu_count() or 1)


def test_other_commands_of_a_script_become_notes() -> None:
    command = command_of(
        f"make -j8\nif [ -f x ]; then git clone /x/fastchess; fi\n{MATCH} | tee log"
    )
    assert command.notes == ("line 1 of match.sh: 'make -j8'", "line 3 of match.sh: 'tee log'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"\nfor i in 1 2; do\n{MATCH}\ndone", "match.sh:3: the match is inside `for`, which"),
        (f"if true; then {MATCH}; fi", "match.sh:1: the match is inside `if`, which"),
        (f"go() {{\n{MATCH}\n}}\ngo", "match.sh:2: the match is inside a function or braces,"),
        (f"{MATCH} -rounds $N", "match.sh:1: $N is not set; write its value there"),
        (f"{MATCH} -rounds $1", "match.sh:1: $1 is an argument of the script; write its value"),
        (
            f"N=$(wc -l x)\n{MATCH} -rounds $N",
            "match.sh:2: $N is not known: match.sh:1: the output of 'wc -l x' is not known; write",
        ),
        (f"if x; then N=2; fi\n{MATCH} -rounds $N", "match.sh:2: $N is not known: match.sh:1: it "),
        (f"{MATCH} -event 'x", "match.sh:1: a ' is not closed"),
        (f"cat <<EOF\nEOF\n{MATCH}", "match.sh:1: a here-document cannot be read; leave it out"),
        (f". ./settings\n{MATCH}", "match.sh:1: `.` cannot be read; put the other file's lines"),
        (f"{MATCH}\n{MATCH}", "match.sh:2: there is more than one match (lines 1, 2); import"),
        ("ls", "match.sh:1: no command line of fastchess or cutechess-cli is in it"),
        (f"wrapped {MATCH}", "match.sh:1: 'wrapped' before the match is not understood; leave"),
    ],
)
def test_unreadable_script_is_refused_with_its_line(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


def test_script_makes_a_control_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "match.sh").write_text(f"N=2\n{MATCH} -concurrency $N\n")
    assert run(["import", "match.sh", "-o", "my.ctl"]) == 0
    text = (tmp_path / "my.ctl").read_text()
    assert "parallel = 2\n" in text
    assert "# Imported from: match.sh, line 2: fastchess -engine" in text
    (tmp_path / "match.sh").write_text(f"\n{MATCH} -games 5 -rounds 30\n")
    assert run(["import", "match.sh"]) == USAGE
    assert (
        "match.sh:2: -games 5 -rounds 30: a round of fastchess has 1 or 2 games, and it refuses "
        "both above 2; write -games 2 -rounds 75 for 150 games"
    ) in capsys.readouterr().err


@given(st.lists(st.text(st.characters(exclude_characters="\0\r", codec="utf-8"), max_size=20)))
def test_quoted_words_are_read_as_they_were(words: list[str]) -> None:
    assert list(command_of(f"{MATCH} {shlex.join(words)}").words) == [*MATCH.split(), *words]


@given(st.text("ab=$(){}[]\"'`\\;&|<> \n#/1@-+", max_size=60))
def test_no_script_ends_in_a_traceback(text: str) -> None:
    for script in (text, f"{text}\n{MATCH}", f"{MATCH} {text}"):
        with contextlib.suppress(UsageError):
            command_of(script)


def test_absolute_names_in_the_folders_of_script_and_control_file_become_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "match.sh"
    script.write_text(
        'here=$(cd "$(dirname "$0")" && pwd)\n'
        "fastchess -engine cmd=$here/../build/a dir=$(pwd) -engine cmd=/e/b -each nodes=9 \\\n"
        "  -openings file=$(pwd)/scripts/book.epd\n"
    )
    monkeypatch.chdir(tmp_path)
    assert run(["import", "scripts/match.sh", "-o", "my.ctl"]) == 0
    assert run(["import", "scripts/match.sh", "-o", "scripts/my.ctl"]) == 0
    for control, parts in {
        "my.ctl": ['Player("build/a", cwd=".")', 'Openings("scripts/book.epd"'],
        "scripts/my.ctl": ['Player("../build/a", cwd="..")', 'Openings("book.epd"'],
    }.items():
        text = Path(control).read_text()
        assert all(part in text for part in [*parts, 'Player("/e/b"'])
