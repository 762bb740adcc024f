"""The actions of the command line, a module for each or for closely related ones.

`cli` imports a module when its action runs: importing them all would take longer than `show`.
"""
