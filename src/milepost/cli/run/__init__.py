"""Commands that start a job: `run` and `check`."""
