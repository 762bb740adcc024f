"""Reading parameter files: values, assumptions and errors of each format."""

from __future__ import annotations

import pytest

from ringmaster.errors import ParameterFileError, UsageError, visible
from ringmaster.parameter_files.entries import Entry, arguments
from ringmaster.parameter_files.formats import write_file
from tests.parameter_files.samples import read


def refusal(text: str | bytes, **options: object) -> str:
    with pytest.raises(ParameterFileError) as caught:
        read(text, **options)  # type: ignore[arg-type]
    return str(caught.value)


# Recognition


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("a,1,0,9,2,.002,0\n", "spsa_tuner"),
        ("a,1,0,9,2,.002\n", "fishtest"),
        (" a , 1, 0, 9, 2, 0.002\r\nb, 1, 0, 9, 2, 0.002 ,\r\n", "fishtest"),
        ("a, int, 1, 0, 9, 2, .002", "openbench"),
        ("a, int, 1, 0, 9, 2, .002 // what it does", "yaneuraou"),
        ("a, int, 1, 0, 9, 2, .002 [[NOT USED]]\nb,int,1,0,9,2,.002", "yaneuraou"),
        ("a, 12\nb, 3.5\n", "openbench_values"),
        ('{"a": {"value": 1, "min_value": 0, "max_value": 9, "step": 2}}', "weather_factory"),
        ("{'a': {'default': 1, 'min': 0, 'max': 9, 'step': 2}}", "optuna_tuner"),
        ('{"a": "Real(0, 1)"}', "chess_tuning_tools"),
        ("Name x\nLinearParameter a 0 1\n", "clop"),
    ],
)
def test_format_is_recognised_by_content(text: str, format: str) -> None:
    assert read(text).format == format


def test_file_name_distinguishes_yaneuraou_from_openbench() -> None:
    line = "a,int,1,0,9,2,.002"
    assert read(line, "x.params").format == "yaneuraou"
    assert read(line, "x.params").entries == read(line, "x.txt").entries


def test_two_formats_that_fit_alike_are_refused_by_name() -> None:
    message = refusal("a,1,0,9,2,.002\nb,1,0,9,2,.002,0\n")
    assert (
        message
        == "tune.txt: spsa_tuner and fishtest fit equally well; expected a file of one format"
    )


def test_odd_line_out_does_not_change_the_format() -> None:
    message = refusal("a,1,0,9,2,.002\nb,1,0,9,2,.002\nc,1,0,9,2,.002,0\n")
    assert message == (
        "tune.txt:3: it has 7 columns; expected 6 columns: name,start,min,max,c_end,r_end\n"
        "    3 | c,1,0,9,2,.002,0"
    )


@pytest.mark.parametrize("text", ["", "\n \n", "# only a comment\n", "// the same\n"])
def test_file_without_parameters_is_an_error(text: str) -> None:
    assert refusal(text).startswith("tune.txt: ")
    assert "the file has no parameters" in refusal(text, format="fishtest")


def test_prose_is_answered_with_every_format() -> None:
    message = refusal("Dear reader,\n")
    assert "no format of parameter files has lines such as 'Dear reader,'" in message
    assert message.count("\n        ") == 9


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("A,nan,0,200,10,0.002", "tune.txt:1: start 'nan' is not a finite number"),
        ("A;30;0;200;10;0.002", "tune.txt:1: its columns are not separated by commas; expected 6"),
        ("A,int,3,0,9,1,x", "tune.txt:1: r_end 'x' is not a finite number"),
    ],
)
def test_table_without_one_sound_line_is_refused_by_its_lines(content: str, message: str) -> None:
    assert message in refusal(content)


def test_unknown_format_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="expected 'fishtest'"):
        read("a,1,0,9,2,.002", format="fishtst")


# Lines as users have them


def test_byte_order_mark_line_ends_blank_lines_and_comments_are_no_content() -> None:
    text = "\ufeff# tune 3\r\n\r\na,1,0,9,2,.002 # slow\r// b is gone\nc,1,0,9,2,.002,,\r\n"
    file = read(text)
    assert [(e.code, e.comment, e.line) for e in file.entries] == [("a", "slow", 3), ("c", None, 5)]


def test_header_that_names_the_columns_is_passed_with_a_note() -> None:
    file = read("Name,Start,Min,Max,C_end,R_end\na,1,0,9,2,.002\n")
    assert [entry.code for entry in file.entries] == ["a"]
    assert file.notes == ["line 1 is the header of the table"]


def test_header_with_another_order_is_refused() -> None:
    assert "tune.txt:1: the header names other columns, or in another order" in refusal(
        "name,start,max,min,c_end,r_end\na,1,9,0,2,.002\nb,1,9,0,2,.002\n"
    )


def test_shift_jis_comments_are_read() -> None:
    file = read("a,int,1,0,9,2,.1 // 深さ\n".encode("shift_jis"))
    assert file.entries[0].comment == "深さ"
    assert file.notes == ["line 1 is not UTF-8; it is read as Shift JIS"]


def test_latin_1_comments_are_read() -> None:
    file = read("a,int,1,0,9,2,.1 // Größe\n".encode("latin-1"))
    assert file.entries[0].comment == "Größe"
    assert file.notes == ["line 1 is not UTF-8; it is read as ISO 8859-1"]


@pytest.mark.parametrize("data", ["a,1".encode("utf-16"), b"a\0b"])
def test_file_that_is_no_text_is_refused(data: bytes) -> None:
    assert "expected a text file saved as UTF-8" in refusal(data)


# Doubtful lines

GOOD = "g,1,0,9,2,.002\nh,1,0,9,2,.002\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,1,0,9,2", "it has 5 columns; expected 6 columns"),
        ("a,1,0,9,2,x", "r_end 'x' is not a finite number"),
        ("a,1,0,1e999,2,.002", "max '1e999' is not a finite number"),
        ("a,1,9,0,2,.002", "a: min 9 is more than max 0; expected the smaller bound first"),
        ("a,1,1,1,2,.002", "a: min and max are both 1"),
        ("a,10,0,9,2,.002", "a: start 10 is outside its bounds; expected a number from 0 to 9"),
        ("a,1,0,9,0,.002", "a: c_end is 0; expected more than 0"),
        (
            "G,1,0,9,2,.002",
            "G: the name is there twice (g), first on line 1; expected each name once",
        ),
        ("a\x07b,1,0,9,2,.002", "the name has characters that an option cannot have"),
        ("a value b,1,0,9,2,.002", 'the name has the word "value"'),
        ("3,1,0,9,2,.002", "the name is a number"),
        ('"a,1,0,9,2,.002', "its quotes do not match"),
        ("a,1,0,9,2,.002 [[NOT USED]]", "[[NOT USED]] is a mark of YaneuraOu"),
    ],
)
def test_doubtful_line_is_refused_with_its_number(line: str, message: str) -> None:
    shown = refusal(GOOD + line, format="fishtest")
    assert shown.startswith("tune.txt:3: ")
    assert message in shown
    assert shown.endswith(f"\n    3 | {visible(line)}")


def test_all_wrong_lines_are_reported_at_once() -> None:
    lines = refusal(GOOD + "a,1\nb;2\nc,1,0,9,2,x\n").splitlines()
    assert [line.split(": ")[0] for line in lines[::2]] == [f"tune.txt:{n}" for n in (3, 4, 5)]


def test_control_characters_of_a_line_are_not_printed() -> None:
    assert "\x1b" not in refusal(GOOD + "\x1b[2J,1,0,9,2,.002")


# The sources' own customs


def test_spsa_tuners_readme_order_is_meant_where_every_line_has_it() -> None:
    file = read("Aggressiveness,30,200,0,10,0.0020,0\nB,0,1000,-1000,8,0.0020,1.5\n")
    assert [(e.minimum, e.maximum, e.simul_elo) for e in file.entries] == [
        (0.0, 200.0, 0.0),
        (-1000.0, 1000.0, 1.5),
    ]
    assert "larger bound first" in file.notes[0]


def test_spsa_tuners_orders_are_not_mixed() -> None:
    assert "tune.txt:1: a: min 9 is more than max 0" in refusal("a,1,9,0,2,.1,0\nb,1,0,9,2,.1,0\n")


def test_sources_that_round_have_whole_numbers_where_the_bounds_are_whole() -> None:
    file = read("a,1.5,0,9,2,.1\nb,.5,.25,1,.1,.1\n")
    assert [entry.integer for entry in file.entries] == [True, False]
    assert file.notes == ["b: its bounds are not whole numbers, so its values need not be"]


def test_integer_option_overrides_the_file() -> None:
    assert not read("a,1,0,9,2,.1\n", integer=False).entries[0].integer
    with pytest.raises(ParameterFileError, match=r"b: min 0\.25 is not a whole number"):
        read("b,.5,.25,1,.1,.1\n", integer=True)


def test_int_needs_whole_bounds() -> None:
    assert "max 9.5 is not a whole number" in refusal("a, int, 1, 0, 9.5, 1, .1")


@pytest.mark.parametrize("text", ["Ж1,1,0,9,2,.002\n", '{"Ж1": "Integer(0, 9)"}', "深さ, 5\n"])
def test_names_keep_their_letters(text: str) -> None:
    assert read(text).entries[0].code in ("Ж1", "深さ")


def test_parameter_with_openbenchs_c_end_0_keeps_its_value() -> None:
    file = read("a, float, .75, .25, 1.5, .1, .002\nFrozen, int, 5, 0, 10, 0, 0.002\n")
    assert [(entry.code, entry.frozen) for entry in file.entries] == [
        ("a", False),
        ("Frozen", True),
    ]
    assert arguments(file.entries[1]).items() >= {"start": 5, "frozen": True}.items()
    assert file.notes == ["Frozen is frozen at 5: its c_end is 0"]
    written, _ = write_file("openbench", file.entries)
    assert read(written).entries[1].frozen


def test_objects_are_json5() -> None:
    text = "{ // gains\n  a: {value: +1, 'min_value': -.5, max_value: 9, step: 2,},\n}"
    (entry,) = read(text).entries
    assert (entry.minimum, entry.line) == (-0.5, 2)


def test_openbenchs_values_get_the_ranges_of_stockfishs_tune() -> None:
    file = read("a, 12\nb, -3\nc, 2.0\n")
    assert [(e.minimum, e.maximum, e.integer) for e in file.entries] == [
        (0.0, 24.0, True),
        (-6.0, 0.0, True),
        (0.0, 4.0, False),
    ]
    assert "from 0 to twice each value is assumed" in file.notes[0]
    assert "a value of 0 gives no range" in refusal("a, 0\nb, 1\n")


def test_unused_parameters_of_yaneuraou_become_a_note() -> None:
    file = read("a,int,1,0,9,2,.1 // x [[NOT USED]]\nb,int,1,0,9,2,.1\n")
    assert [entry.not_used for entry in file.entries] == [True, False]
    assert file.notes == ["not used, so neither tuned nor sent to engines: a (1)"]


def test_weather_factorys_gains_are_converted_for_the_end_of_the_tune() -> None:
    text = '{"a": {"value": 50, "min_value": 0, "max_value": 100, "step": 10}}'
    (entry,) = read(text, games=40_000).entries
    c = 1 * 40_000**-0.102
    assert entry.step == 10
    assert entry.c_end == pytest.approx(10 * c, rel=1e-12)
    assert entry.r_end == pytest.approx((1 / 140_000**0.601) / c**2, rel=1e-12)
    assert read(text, games=40_000).notes == []
    assert "for 100000 games" in read(text).notes[0]


def test_clops_parameters_start_in_the_middle_of_their_scale() -> None:
    file = read(
        "Name tune\nLinearParameter l -1 2\nIntegerParameter i 0 5\n"
        "GammaParameter g 1 100 # wide\nIntegerGammaParameter h 1 64\nReplications 2\n"
    )
    assert [(e.start, e.integer, e.scale) for e in file.entries] == [
        (0.5, False, "linear"),
        (3.0, True, "linear"),
        (pytest.approx(10), False, "log"),
        (8.0, True, "log"),
    ]
    assert file.notes[0] == "only the parameters are read, not Name, Replications"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("GammaParameter g 0 1", "min 0 is not possible on a logarithmic scale"),
        ("LinearParameter g 0", "it has 3 words; expected LinearParameter NAME MIN MAX"),
        ("LinaerParameter g 0 1", "'LinaerParameter' cannot begin a line"),
    ],
)
def test_doubtful_line_of_clop_is_refused(line: str, message: str) -> None:
    assert message in refusal(f"LinearParameter a 0 1\nLinearParameter b 0 1\n{line}\n")


def test_ranges_are_scikit_optimizes() -> None:
    file = read(
        '{"engines": [], "parameter_ranges": {"a": "Real(0.0, 10.0)", "b": "Integer(1, 64, '
        'prior=log-uniform)", "c": "(0, 10)", "d": "(0.5, 10)", "e": "(1, 2, 4, 8)", '
        '"f": "Categorical([\'x\', \'y\'])", "g": "(1e-3, 1.0, \'log-uniform\')"}}'
    )
    kinds = [(e.integer, e.scale, e.choices) for e in file.entries]
    assert kinds == [
        (False, "linear", ()),
        (True, "log", ()),
        (True, "linear", ()),
        (False, "linear", ()),
        (True, "linear", (1, 2, 4, 8)),
        (True, "linear", ("x", "y")),
        (False, "log", ()),
    ]
    assert file.notes[0] == "only parameter_ranges are read, not engines"


@pytest.mark.parametrize("value", ["[1, 2, [3]]", "[[1], 2, 3]", '"(1, 2, [3])"'])
def test_list_within_a_range_is_refused(value: str) -> None:
    assert "choices other than numbers and texts" in refusal(f'{{"b": {value}}}')


@pytest.mark.parametrize(
    "value",
    ["Real(0, 1", "Real(0)", "Real(0, 1, prior=normal)", "Real(0, 1, what=2)", "__import__('os')"],
)
def test_range_that_is_not_understood_is_refused(value: str) -> None:
    message = refusal(f'{{"a": "Integer(0, 1)",\n"b": "{value}"}}')
    assert message.startswith("tune.txt:2: 'b': ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": {"value": 1, "min_value": 0, "max_value": 9}}', "tune.txt:1: 'a': step is missing"),
        (
            '{"a": {"value": "1", "min_value": 0, "max_value": 9, "step": 1}}',
            "value '1' is not a finite number; expected a number without quotes",
        ),
        (
            '{"a": {"value": 1, "min_value": 0, "max_value": 9, "step": 1, "elo": 3}}',
            "'elo' is unknown",
        ),
        ('{"a": {"value": 1, "min_value": NaN}}', "tune.txt: JSON has no number NaN"),
        ('{\n"a": {"value": 1,,}}', "tune.txt:2: this is not JSON"),
        ('{"a": 1,\n"a": 2}', "tune.txt:2: 'a' is there twice; expected it once"),
        ("{" * 100_000, "tune.txt:"),
    ],
)
def test_doubtful_object_is_refused(text: str, message: str) -> None:
    assert message in refusal(text)


# What becomes of entries


def test_logarithmic_parameter_keeps_its_values_and_its_scale() -> None:
    given = arguments(Entry("a", 8.0, 1.0, 64.0, integer=True, scale="log"))
    assert given == {"start": 8, "min": 1, "max": 64, "integer": True, "scale": "log"}
