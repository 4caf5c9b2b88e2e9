"""Python participants of a checkpoint: their hooks, their chains, and what they may store."""
