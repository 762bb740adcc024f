"""Control files: grammar and positions, loading, diagnostics."""
