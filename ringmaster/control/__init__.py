"""Control files: grammar and positions, loading, diagnostics, reference documentation.

`load` in `ringmaster.control.loader` is the way in.
"""
