"""Store results in SQLite; write logs, history and game records."""
