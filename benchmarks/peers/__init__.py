"""Programs that play matches beside ringmaster.

`rows(path, rounds=…, short=…)` of `gomill` and `shogiarena`, and `uci_rows` of `uci`, play a
peer's matches in rounds that alternate with ringmaster's, and return the lines of the table.
"""
