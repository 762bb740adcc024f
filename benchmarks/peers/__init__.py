"""Programs that ringmaster is measured beside, a module each.

`rows(path, rounds=…, short=…)` of a module plays what the program can play, in rounds
that alternate with ringmaster's, and returns the lines of the table.
"""
