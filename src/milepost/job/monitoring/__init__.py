"""What a running job reports: counters, progress, logs, spans."""
