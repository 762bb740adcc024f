"""Loading of control files, and the errors of wrong ones."""

from __future__ import annotations

import hashlib
import inspect
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringmaster.control import loader
from ringmaster.control.calls import calls_in
from ringmaster.control.loader import ControlFile, load
from ringmaster.control.source import ControlFileProblems, Diagnostic
from ringmaster.errors import ControlFileError, SettingError
from ringmaster.model.settings import (
    Call,
    CallOf,
    Integer,
    Setting,
    SettingType,
    String,
)
from tests.control.samples import MC_TUNER, PLAYOFF_FILE, TABLES, TUNER_FILE, as_dict, load_text
from tests.processes import LONG

HEAD = "competition_type = 'playoff'\n"
GOOD = HEAD + "players = {'a': Player('a'), 'b': Player('b')}\nmatchups = [Matchup('a', 'b')]\n"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load_here(text: str | bytes, name: str = "tune.ctl", **options: Any) -> ControlFile:
    """Write a control file in the current folder and load it by its bare name."""
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    return load(name, TABLES.get, list(TABLES), **options)


def problems(text: str | bytes, **options: Any) -> tuple[Diagnostic, ...]:
    with pytest.raises(ControlFileProblems) as caught:
        load_here(text, **options)
    return caught.value.diagnostics


def problem(text: str | bytes, **options: Any) -> Diagnostic:
    (one,) = problems(text, **options)
    return one


def refused(text: str | bytes) -> str:
    """Return the error message of a file, "sound" for one without errors."""
    try:
        load_here(text)
    except ControlFileError as error:
        return str(error)
    return "sound"


# Repeated keys


@pytest.mark.parametrize("safe", [False, True])
def test_repeated_player_is_an_error_that_shows_both_lines(safe: bool) -> None:
    text = GOOD + "players = {\n    'a': Player('a'),\n    'b': Player('b'),\n"
    (error,) = problems(text + "    \"a\": Player('c'),\n}\n", safe=safe)
    assert str(error) == (
        "tune.ctl:7:5: error: the key 'a' is repeated: its first value would be lost; expected "
        "each key once\n"
        "    7 |     \"a\": Player('c'),\n"
        "      |     ^^^\n"
        "        first in line 5: 'a': Player('a'),"
    )


@pytest.mark.parametrize(
    ("literal", "key"),
    [
        ("{1: 2, True: 3}", "True"),
        ("{-1: 2, 0: 1, -1: 3}", "-1"),
        ("{'x': {'y': {'a': 1, 'b': 2, 'a': 1}}}", "'a'"),
        ("{'a': 1, **{'b': 2}, 'a': 3}", "'a'"),
        ("{('a', 1): 1, ('a', 1.0): 2}", "('a', 1.0)"),
        ("lambda: {None: 1, None: 2}", "None"),
        ("[{'a': 1, 'a' '': 2} for _j in range(2)]", "'a'"),
    ],
)
@pytest.mark.parametrize("safe", [False, True])
def test_repeated_key_of_any_dictionary_is_an_error(literal: str, key: str, safe: bool) -> None:
    error = problem(f"{GOOD}_x = {literal}\n", safe=safe)
    assert error.message.startswith(f"the key {key} is repeated")
    assert error.line == 4


def test_each_repetition_is_an_error_beside_the_other_errors() -> None:
    text = GOOD + "_x = {'a': 1, 'a': 2,\n      'a': 3}\nkomi = 'much'\n"
    assert [error.line for error in problems(text)] == [6, 4, 5]


@pytest.mark.parametrize(
    "lines",
    [
        "_a = 'a'\n_x = {_a: 1, 'a': 2, _a: 3}",
        "_x = {'a': 1, **{'a': 2}}",
        "_x = {'a': 1}\n_x['a'] = 2",
        "_x = {'a': {'a': 1}, 'A': 2, '1': 3, 1: 4}",
        "_x = {'%d' % i: i for i in range(2)}",
        "_x = {f'a{1}': 1, f'a{1}': 2}",
    ],
)
@pytest.mark.parametrize("safe", [False, True])
def test_key_that_is_no_constant_or_is_overridden_on_purpose_is_no_error(
    lines: str, safe: bool
) -> None:
    assert load_here(f"{GOOD}{lines}\n", safe=safe).warnings == []


def test_repeated_key_of_a_list_of_pairs_is_an_error() -> None:
    pairs = "players = [('a', Player('a')),\n('b', Player('b')),\n('a', Player('c'))]\n"
    error = problem(GOOD + pairs)
    assert (error.line, error.setting) == (6, "players['a']")
    assert error.message == "the key 'a' is repeated"


# What is accepted


def test_gomill_playoff_is_loaded(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, PLAYOFF_FILE)
    assert loaded.competition_type == "playoff"
    assert loaded.code == "tune"
    assert loaded.origin.file == tmp_path / "tune.ctl"
    assert loaded.warnings == []
    values = loaded.values
    assert list(values["players"]) == ["level-1", "level-2", "third"]
    assert values["players"]["level-1"]["command"] == (
        *("engine", "--mode=gtp", "--chinese", "--level=1"),
    )
    assert values["players"]["level-2"]["command"][-1] == "--level=2"
    assert values["board_size"] == 9
    assert values["komi"] == 6.0
    assert values["number_of_games"] is None
    assert [m["board_size"] for m in values["matchups"]] == [13, 19, 19]
    assert values["matchups"][1]["alternating"] is True


def test_gomill_tuner_is_loaded_with_true_division(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, TUNER_FILE)
    assert loaded.namespace["MAX_GAMES"] == 2500.0
    assert [p["scale"]["upper"] for p in loaded.values["parameters"]] == [5.0, 1e5]
    call = loaded.values["make_candidate"](0.5, 1000)
    assert isinstance(call, Call)
    assert call.kind == "Player"
    assert call.position == (17, 12)
    assert loaded.warnings == []


def test_source_and_hash_belong_to_the_file() -> None:
    loaded = load_here(GOOD)
    assert loaded.origin.text == GOOD
    assert loaded.origin.hash == hashlib.sha256(GOOD.encode()).hexdigest()
    windows = load_here(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert windows.origin.text == GOOD
    assert windows.origin.hash == loaded.origin.hash
    assert list(windows.values["players"]) == ["a", "b"]


def test_docstring_comments_and_future_imports_may_come_first() -> None:
    text = '#!/usr/bin/env ringmaster\n"""Doc."""\n# note\nfrom __future__ import annotations\n\n'
    assert load_here(text + GOOD).competition_type == "playoff"
    assert load_here(GOOD.replace("'playoff'", "('play' \"off\")")).competition_type == "playoff"


def test_control_file_does_not_inherit_future_imports() -> None:
    # With the loader's own `annotations` this would not be evaluated.
    assert problem(GOOD + "def f(x: Undefined): pass\n").message.startswith("NameError")


def test_kinds_of_other_types_are_known_in_helper_functions() -> None:
    text = GOOD + "helper = Parameter('x', scale=LOG(1, 2), split=3)\n"
    assert problem(text).message == "NameError: name 'Parameter' is not defined"
    loaded = load_here(text, kinds=["Parameter", "LOG"])
    assert repr(loaded.namespace["helper"]) == "Parameter('x', scale=LOG(1, 2), split=3)"


def test_calls_deep_in_a_table_are_included() -> None:
    class Nested(SettingType):
        def __init__(self, *choices: SettingType) -> None:
            self.choices = {"x": [*choices], "self": self}

        def describe(self) -> str:
            return "."

        def interpret(self, value: Any, path: Any, context: Any) -> Any:
            return value

    deep = CallOf("Deep", (Setting("n", Integer(), "."),), as_dict)
    outer = CallOf("Outer", (Setting("d", Nested(String(), deep), "."),), as_dict)
    assert list(calls_in([Setting("a", outer, ".")])) == ["Outer", "Deep"]
    assert list(calls_in(MC_TUNER)) == ["Player", "TimeControl", "Parameter", "LOG"]
    # Only the result of make_candidate mentions this one:
    assert "Player" in calls_in([s for s in MC_TUNER if s.name == "make_candidate"])


def test_source_of_functions_is_available_after_the_file_is_deleted() -> None:
    loaded = load_here(GOOD + "def helper(x):\n    return x + 1  # remark\n\nz = helper(1)\n")
    os.unlink("tune.ctl")
    expected = "def helper(x):\n    return x + 1  # remark\n"
    assert inspect.getsource(loaded.namespace["helper"]) == expected


def test_helper_modules_may_call_back_and_keep_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ringmaster_test_helper.py").write_text("def make(kind, name):\n    return kind(name)\n")
    monkeypatch.syspath_prepend(os.getcwd())
    text = HEAD + (
        "from ringmaster_test_helper import make\n"
        "players = {'a': Player('a'), 'b': make(Player, 'b')}\n"
        "matchups = [Matchup('a', 'b')]\n"
    )
    loaded = load_here(text)
    assert loaded.namespace["players"]["b"].position == (3, 35)


def test_file_name_and_module_name_are_known_to_the_file() -> None:
    loaded = load_here(GOOD + "_here = __file__\n_main = __name__ == '__main__'\n")
    assert loaded.namespace["_here"] == os.path.abspath("tune.ctl")
    assert loaded.namespace["_main"] is False


def test_sound_file_is_loaded_without_lark(tmp_path: Path) -> None:
    (tmp_path / "tune.ctl").write_text(PLAYOFF_FILE)
    program = (
        "import sys; from tests.control.samples import TABLES\n"
        "from ringmaster.control.loader import load\n"
        f"loaded = load({str(tmp_path / 'tune.ctl')!r}, TABLES.get, list(TABLES))\n"
        "assert loaded.values['board_size'] == 9\n"
        "heavy = {'lark', 'numpy', 'rich', 'difflib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root, timeout=LONG)


# What is refused before the file is run


@pytest.mark.parametrize("extension", [*sorted(loader.OUTPUT_EXTENSIONS), ".LOG"])
def test_output_files_are_refused_as_control_files(extension: str) -> None:
    with pytest.raises(ControlFileError) as caught:
        load(f"tune{extension}", TABLES.get, list(TABLES))
    assert str(caught.value) == (
        f"tune{extension}: error: {extension!r} is the extension of a file that ringmaster "
        "writes; expected a control file, such as 'tune.ctl'"
    )


@pytest.mark.parametrize("name", [".ctl", "a\nb.ctl", " .ctl", "\x1b[2J.ctl", "..", ""])
def test_names_that_make_no_competition_code_are_refused(name: str) -> None:
    with pytest.raises(ControlFileError, match="gives no competition code") as caught:
        load(name, TABLES.get, list(TABLES))
    assert str(caught.value).isprintable()


def test_missing_file_folder_and_pipe_are_refused(tmp_path: Path) -> None:
    for name, message in [
        ("none.ctl", "none.ctl: error: no such file"),
        ("no/none.ctl", "no/none.ctl: error: no such file"),
        ("folder.ctl", "folder.ctl: error: is a directory; expected a control file"),
        ("pipe.ctl", "pipe.ctl: error: is not a regular file; expected a control file"),
        ("file.ctl/x.ctl", "file.ctl/x.ctl: error: cannot be read: Not a directory"),
        ("loop.ctl", "loop.ctl: error: cannot be read: Too many levels of symbolic links"),
    ]:
        Path("folder.ctl").mkdir(exist_ok=True)
        Path("file.ctl").touch()
        if not os.path.lexists("loop.ctl"):
            os.mkfifo("pipe.ctl")
            os.symlink("loop.ctl", "loop.ctl")
        with pytest.raises(ControlFileError) as caught:
            load(name, TABLES.get, list(TABLES))
        assert str(caught.value) == message


def test_unreadable_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ControlFileError, match="permission to read the file is denied"):
        load_here(GOOD)


#: (text, line, column or None, beginning of the message) of files with one error.
WRONG: list[tuple[str | bytes, int, int | None, str]] = [
    (GOOD.encode() + b"# \xc3\xa9 caf\xe9\n", 4, 8, "byte 0xe9 is not valid UTF-8"),
    (b"\xef\xbb\xbf# \xff\n", 1, 3, "byte 0xff is not valid UTF-8"),
    (GOOD + "a = 'x\0y'\n", 4, 7, "the file has a NUL byte"),
    (HEAD + "players = {\n    'a': Player('a') 'b'\n}\n", 3, None, "SyntaxError: "),
    (HEAD + "é = 'é' + )\n", 2, 11, "SyntaxError: "),
    (HEAD + "def f():\nreturn 1\n", 3, None, "IndentationError: "),
    (HEAD + "x = '''\n", 2, None, "SyntaxError: unterminated"),
    ("import os\ncompetition_type = 'playoff'\n", 2, None, "competition_type must be set first"),
    ("board_size = 9\n", 1, None, "competition_type is not set"),
    ("competition_type = 'play' + str('off')\n", 1, 20, "\"'play' + str('off')\" is not a plain"),
    ("competition_type = f'playoff'\n", 1, 20, "\"f'playoff'\" is not a plain string"),
    ("competition_type = None\n", 1, 20, "'None' is not a plain string"),
    (GOOD + "competition_type = 'mc_tuner'\n", 4, None, "a later line changes"),
    # while the file is run
    (HEAD + "def half(x):\n\treturn 'é', x / 0\n\nv = half(3)\n", 3, 14,
     "ZeroDivisionError: division by zero"),
    (HEAD + "import json\ndata = json.loads('{')\n", 3, 8, "JSONDecodeError: "),
    (HEAD + "import sys\nsys.exit(3)\n", 3, None, "the control file ends the program (SystemExit)"),
    (HEAD + "class Odd(Exception):\n    def __str__(self): 1/0\nraise Odd\n", 4, None, "Odd"),
    (HEAD + "raise ValueError('a\\nb\\x1b')\n", 2, None, "ValueError: a\nb\x1b"),
    (HEAD + "def f(): return f()\nf()\n", 2, None, "RecursionError"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), WRONG)
def test_error_is_reported_at_its_place(
    text: str | bytes, line: int, column: int | None, message: str
) -> None:
    one = problem(text)
    assert (one.line, one.message[: len(message)]) == (line, message)
    assert column in (None, one.column)


@pytest.mark.parametrize(
    ("text", "fault"),
    [("", "is empty"), ("\n \n", "is empty"), ("# x\n'''doc'''\n", "sets nothing")],
)
def test_file_without_settings_is_refused(text: str, fault: str) -> None:
    one = problem(text)
    assert one.message == f"the file {fault}"
    assert "competition_type = 'playoff'" in one.expected


def test_interrupt_is_no_error_of_the_file() -> None:
    with pytest.raises(KeyboardInterrupt):
        load_here(HEAD + "raise KeyboardInterrupt\n")


def test_file_nested_too_deeply_is_refused() -> None:
    assert problem(HEAD + "x = " + "(" * 5000 + ")" * 5000 + "\n").message
    assert problem(HEAD + "x = " + "-" * 100_000 + "1\n").message


def test_competition_type_is_checked_before_anything_is_run() -> None:
    one = problem("competition_type = 'playof'\nopen('ran', 'w').close()\n")
    assert one.message == "'playof' is not a competition type"
    assert one.expected == "'playoff'"
    assert (one.line, one.column, one.end_column) == (1, 20, 28)
    assert not os.path.exists("ran")


def test_place_without_columns_is_the_line() -> None:
    source = loader.Source("x.ctl", Path("/x.ctl"), "a = 1\nb = a / 0\n")
    code = compile(source.text, "/x.ctl", "exec").replace(co_linetable=b"")
    assert source.instruction(code, 0) is None
    program = (
        "from tests.control.samples import TABLES\n"
        "from ringmaster.control.loader import load\n"
        "try:\n    load('tune.ctl', TABLES.get, list(TABLES))\n"
        "except Exception as error:\n    print(error)\n"
    )
    root = str(Path(__file__).parents[2])
    Path("tune.ctl").write_text(HEAD + "board_size = 1 / 0\n")
    done = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", "-c", program],
        capture_output=True,
        check=True,
        text=True,
        timeout=LONG,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert done.stdout.startswith("tune.ctl:2:1: error: ZeroDivisionError: division by zero\n")


# What is refused when the settings are interpreted


def test_all_independent_errors_are_reported_at_once() -> None:
    text = HEAD + (
        "players = {\n"
        "    'a': Player('a', options={'Hash': [1]}),\n"
        "    'b': Player(),\n"
        "    'c d': Player('c', cwdd='x'),\n"
        "}\n"
        "komi = 'seven'\n"
        "board_size = 1\n"
        "matchups = [Matchup('a', 'b', 9), Matchup('a', 'b', komi=None),\n"
        "            Matchup('a', 'a')]\n"
    )
    diagnostics = {d.setting: (d.line, d.column, d.message) for d in problems(text)}
    assert diagnostics == {
        "players['a'].options['Hash']": (3, 39, "[1] cannot be an option's value"),
        "players['b'].command": (4, 10, "'command' is missing"),
        "players['c d']": (5, 5, "'c d' is not an identifier"),
        "players['c d'].cwdd": (5, 24, "Player has no argument 'cwdd'"),
        "komi": (7, 8, "'seven' is not a number"),
        "board_size": (8, 14, "1 is out of range"),
        "matchups[0]": (9, 13, "Matchup takes at most 2 positional arguments, not 3"),
        "matchups[1].komi": (9, 58, "None is not a number"),
        "matchups[2]": (10, 13, "a player cannot meet itself"),
    }


def test_wrong_key_is_marked_itself_and_wrong_value_too() -> None:
    diagnostics = problems(HEAD + "players = {1.5: Player('x'), 3: 13}\nmatchups = []\n")
    assert [(d.column, d.message) for d in diagnostics] == [
        (12, "1.5 is not an identifier"),
        (30, "3 is not an identifier"),
        (33, "13 is not a Player definition"),
    ]


def test_later_errors_are_shown_at_their_place() -> None:
    loaded = load_here(PLAYOFF_FILE)
    error = loaded.error(
        [
            SettingError(("matchups", 0, "player_2"), "there is no player 'third'", "'a'"),
            SettingError(("matchups", 0, "player_2"), "there is no player 'third'", "'a'"),
            SettingError(("players", "third", "command"), "cannot find 'third'"),
            SettingError((), "too many players"),
        ]
    )
    assert isinstance(error, ControlFileProblems)
    shown = [(d.line, d.setting, d.message) for d in error.diagnostics]
    assert shown == [
        (29, "matchups[0].player_2", "there is no player 'third'"),
        (18, "players['third'].command", "cannot find 'third'"),
        (2, "", "too many players"),
    ]


def test_pythons_own_warnings_become_warnings_of_the_file() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = load_here(GOOD + "_x = 5 is 6\n")
    (warning,) = loaded.warnings
    assert (warning.severity, warning.line) == ("warning", 4)
    assert '"is" with' in warning.message


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60))
def test_any_bytes_are_loaded_or_refused_with_a_place(data: bytes) -> None:
    for text in (data, HEAD.encode() + data):
        assert refused(text).startswith(("tune.ctl:", "sound"))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["players", "matchups", "komi", "board_size", "description"]),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=2), inner, max_size=2)
        ),
        max_leaves=4,
    ),
)
def test_any_value_is_accepted_or_refused_at_its_line(name: str, value: Any) -> None:
    text = f"inf = nan = 1e999\n{name} = {value!r}\n"
    first, *_ = refused(GOOD + text).splitlines()
    assert first == "sound" or (first.startswith("tune.ctl:5:") and f": error: {name}" in first)
