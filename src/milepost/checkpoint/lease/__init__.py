"""The lease on a checkpoint directory: of two drivers, exactly one runs."""
