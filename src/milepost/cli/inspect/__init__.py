"""Commands that look into a job: checkpoints, offsets, state, lineage, history, verify."""
