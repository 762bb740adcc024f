"""Programs that try to leave safe mode, or to take its time and memory; all are refused.

PROGRAMS has one on each line, with \\n for the end of a line; LONG has those that are computed.
"""

from __future__ import annotations

import functools
from pathlib import Path

from ringmaster.loaded_competition import LoadedCompetition

#: Lines before each program.
HEAD = """competition_type = "playoff"
players = {"a": Player("x"), "b": Player("y")}
matchups = [Matchup("a", "b", komi=7.5, board_size=9)]
"""

PROGRAMS = r'''
().__class__.__bases__
"".__class__
x = (1).real
"{0.__class__}".format(1)
"{0[a]}".format({"a": 1})
"{:{}}".format(1, 99999999)
f"{().__class__}"
f"{1:99999999}"
f"{1:{10**9}}"
(x for x in ()).gi_frame
(lambda: 0).__code__
(lambda: 0).__globals__
[x for x in [1] if x.__class__]
type(1)
getattr(1, "real")
eval("1")
exec("1")
compile("1", "", "eval")
__import__("os")
__builtins__
globals()
locals()
vars()
dir()
open("/etc/passwd")
input()
breakpoint()
print("x")
help()
object
super
memoryview
bytearray(10)
bytes(10)
setattr
delattr
hash("x")
id(1)
iter([])
import os
import sys; sys.modules
import sys; sys.exit(0)
import math; math.__loader__
import math; math.factorial(10**6)
from math import *
from os import system
from . import x
import os.path
from sys import modules
import math; math.x = 3
exit()
9**9**9
2**100000
1 << 10**9
"a" * 10**10
10**10 * "a"
[[]] * 10**9
(1,) * 10**9
list(range(10**9))
sum(range(10**9))
sorted(range(10**9))
max(range(10**9))
0.5 in range(10**12)
"%1000000000d" % 1
"%.1000000000f" % 1.0
"%*d" % (10**9, 1)
"%(a(b)c)1000000000d" % {"a(b)c": 1}
"x".ljust(10**10)
"x".center(10**10)
"x".zfill(10**10)
"ab".replace("", "x" * 90000).replace("x", "y" * 90000)
x = ["x" * 90000] * 1000; ("%s" * 5000) % tuple(x * 5)
("%(a)s" * 10000) % {"a": "x" * 50000}
while True: pass
for i in range(10**10): pass
[i for i in range(10**10)]
[i for i in range(10**4) for j in range(10**4)]
{i: i for i in range(10**9)}
any(False for i in range(10**10))
x = "a"; x = [x := x + x for i in range(100)]
def f(): return f()\nf()
def f(n): return [f(n + 1)]\nf(0)
f = lambda g: g(g)\nf(f)
x = []\nfor i in range(10**6): x = [x]
x = []\nfor i in range(15000): x = [x]
x = ()\nfor i in range(15000): x = (x,)\n{x: 1}
x = []\nx.append(x)
x = []\nx.append(x)\ny = str(x)
x = [1]\nfor i in range(60): x = [x, x]
x = (1,)\nfor i in range(60): x = (x, x)\ny = {x: 1}
x = (1,)\nfor i in range(60): x = (x, x)\ny = x == x
x = (1,)\nfor i in range(60): x = (x, x)\ny = str(x)
x = (int,)\nfor i in range(60): x = (x, x)\ny = isinstance("", x)
x = [1]\nfor i in range(60): x = [x, x]\ny = "%s" % x
x = [1]\nfor i in x: x.append(i)
x = "a"\nwhile True: x += x
x = [1]\nwhile True: x += x
x = [1]\nwhile True: x.extend(x)
x = (y for y in [1])\nfor i in range(10**6): x = (y for y in x)
x = None\nfor i in range(15000): x = Player("a", cwd=x)
x = None\nfor i in range(10000): x = {1: x}
x = None\nfor i in range(10000): x = [x].copy
class A: pass
try: x\nexcept Exception: pass
raise ValueError
with open("x") as f: pass
@f\ndef g(): pass
async def f(): pass
def f(): yield 1
del players
global x
def f():\n    global x\n    x = 1
def f():\n    nonlocal x
assert False
await x
...
b"x"
1j
(-8) ** 0.5
x @ y
match 1:\n    case 1: pass
x: (().__class__) = 1; x.y = 2
players.__class__ = 1
Player.__init__
Player.__class__
Player._source
Player.variants
Player("a").kind
Player("a")._asdict
"".join.__self__
"".join
[].append.__self__
str.join
dict.fromkeys
"".encode("utf8")
"".translate({})
"".format_map({})
"".expandtabs(10**9)
ｅｖａｌ("1")
__ｉｍｐｏｒｔ__("os")
"\N{NO SUCH}"
"\ud800".x
x = "\ud800"; open(x)
round(1, -10**9)
pow(3, 10**9)
pow(3, 10**5, 7)
divmod(10**4000, 3) and 10**4000 * 10**4000
int("9" * 5000)
int("1" * 90000, 2)
chr(10**9)
ord("ab")
min([], key=eval)
map(eval, ["1"])
map("".join, [["a"]])
sorted([1], key=print)
slice(1)
NotImplemented
Exception
x = [0] * 100000; y = [x[:] for i in range(1000)]
x = "a" * 90000; y = chr(353) * 90000 + "a"\nz = [x.strip(y) for i in range(9)]
x = {}\nfor i in range(20000): x[(i * (2**61 - 1), 1)] = i
x = {}\nfor i in range(100000): x[i * (2**61 - 1)] = i
{*range(10**8)}
{**{}, **[]}
f(**{1: 2})
a, *b, *c = 1, 2
a, b = range(10**10)
a, *b = range(10**10)
Player(*range(10**10))
[*range(10**10)]
not_defined
def f(a, a): pass
def f(a=1, b): pass
return 1
break
1 = 2
f() = 2
None = 1
lambda: (yield)
[(yield)]
x = 1 if 2
"unclosed
"""unclosed
(((
)))
x = [1, 2
  y = 3
if 1:\nx = 2
if 1:\n    x = 1\n  y = 2
\tx = 1
$
`x`
x <> y
print "x"
exec "x"
0777
x = 10L
ur"x"
'''

LONG = {
    "brackets": "[" * 5000,
    "signs": "-" * 5000 + "1",
    "not": "not " * 3000 + "1",
    "sum": "1" + "+1" * 3000,
    "attributes": "x" + ".a" * 3000,
    "calls": "f" + "()" * 3000,
    "calls in calls": "f(" * 100 + ")" * 100,
    "indexes": "[]" + "[0]" * 3000,
    "lambdas": "lambda:" * 3000 + "1",
    "conditions": "1 if 1 else " * 3000 + "1",
    "blocks": "\n".join(" " * i + "if 1:" for i in range(200)) + "\n" + " " * 200 + "pass",
    "elif": "if 1:\n pass\n" + "elif 1:\n pass\n" * 3000 + "x y",
    "dictionaries": "{1:" * 100 + "}" * 100,
    "open text": '"' * 50001,
    "backslashes": '"' + "\\" * 60000,
    "backslashes in lines": "'''" + "\\" * 60000,
    "comment": "#" * 90000 + "\nx y",
    "form feeds": "\f" * 100 + "x y",
    "long name": "x" * 90000 + " y",
    "long number": "1" * 90000,
    "fields in fields": 'f"' + "{1:" * 50 + "}" * 50 + '"',
    "fields": "f'{" + 'f"{().__class__}"' * 100 + "}'",
    "characters": "a" * 200001,
    "words": "[" + "[]," * 30000 + "]",
    "targets": "a," * 30000 + "=1",
    "starred": "f(" + "*a," * 10000 + ")",
    "double starred": "f(" + "**a," * 10000 + ")",
    "encoding": "# coding: utf-7\n+AHgAIAB5-",
    "NUL": "x = 1\x00",
    "direction": "\u202e x",
    "long texts": 'x = "' + "a" * 99000 + '"\ny = x*9',
    "empty lines": "\n" * 90000 + "x y",
    "continued lines": " \\\n" * 20000 + "x",
    "semicolons": ";" * 1000,
    "decorators": "@" * 1000,
    "stars": "*" * 1000,
}


@functools.cache
def escapes() -> dict[str, str]:
    """Return each control file by a name."""
    lines = {line: line.replace("\\n", "\n") for line in PROGRAMS.strip("\n").split("\n")}
    return {name: f"{HEAD}{text}\n" for name, text in (lines | LONG).items()}


def load_safely(folder: Path, text: str) -> LoadedCompetition:
    """Load a text as a control file in safe mode.  Raises nothing but ControlFileError."""
    control = folder / "x.ctl"
    control.write_bytes(text.encode("utf-8", "surrogatepass"))
    return LoadedCompetition(control, safe=True)
