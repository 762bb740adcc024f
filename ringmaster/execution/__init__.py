"""Running jobs in worker processes."""
