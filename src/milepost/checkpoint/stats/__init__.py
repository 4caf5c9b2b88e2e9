"""What is reported of checkpoints: counts, failures, the engine's reports, state sizes."""
