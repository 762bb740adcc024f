"""Shell completion, as the shells call it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ringmaster.cli import run
from ringmaster.commands.options import SHELLS, verb_names, verbs
from tests.processes import LONG
from tests.program import environment

pytestmark = pytest.mark.process


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with control files, and a program `ringmaster` in `bin`."""
    for name in ("event.ctl", "two words.ctl", "event.log", "set.epd"):
        (tmp_path / name).write_text("")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "tune.ctl").write_text("")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "ringmaster"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ringmaster "$@"\n')
    program.chmod(0o755)
    return tmp_path


#: What bash does at a Tab: it sets these variables and calls the function.
_BASH = r"""
eval "$(ringmaster completion bash)"
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
read -ra COMP_WORDS <<< "$1"
[[ $1 == *' ' ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p ringmaster | grep -o -- '-F [^ ]*' | cut -c 4-) ringmaster
printf '%s\n' "${COMPREPLY[@]}"
"""


def completed(folder: Path, line: str) -> list[str]:
    """Return the words that bash offers at the end of a line."""
    path = f"{folder / 'bin'}:{environment()['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", _BASH, "bash", line],
        cwd=folder,
        env=environment({"PATH": path}),
        capture_output=True,
        text=True,
        check=True,
        timeout=LONG,
    )
    assert done.stderr == ""
    return [word.rstrip() for word in done.stdout.splitlines() if word]


OF_FILE = [verb.name for verb in verbs() if verb.has_control_file]
FILES = ["bin/", "deep/", "event.ctl", r"two\ words.ctl"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ringmaster ", [*verb_names(), *FILES]),
        ("ringmaster exp", ["export", "export-parameters"]),
        ("ringmaster deep/", ["deep/tune.ctl"]),
        ("ringmaster run ", FILES),
        ("ringmaster event.ctl ", OF_FILE),
        ("ringmaster event.ctl run ", []),
        ("ringmaster run event.ctl --m", ["--max-games"]),
        ("ringmaster event.ctl verify --g", ["--games"]),
        ("ringmaster new --f", ["--from-engine"]),
        ("ringmaster run event.ctl -j ", []),
        ("ringmaster positions set", ["set.epd"]),
        ("ringmaster positions set.epd --score-pov w", ["white"]),
        ("ringmaster new chess sp", ["spsa"]),
        ("ringmaster export event.ctl -o s", ["set.epd"]),
        ("ringmaster nonsense ", OF_FILE),
    ],
)
def test_bash_offers_verbs_options_and_control_files(
    folder: Path, line: str, expected: list[str]
) -> None:
    assert sorted(completed(folder, line)) == sorted(expected)


@pytest.mark.parametrize("shell", SHELLS)
def test_script_of_a_shell_names_the_program(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["completion", shell]) == 0
    assert "ringmaster" in capsys.readouterr().out
