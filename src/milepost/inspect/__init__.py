"""Inspects the checkpoints, offsets and cells of a job, also while it runs; read-only."""
