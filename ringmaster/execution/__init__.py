"""Run jobs in worker processes."""
