"""Commands that inspect a job: checkpoints, offsets, state, lineage, history, verify."""
