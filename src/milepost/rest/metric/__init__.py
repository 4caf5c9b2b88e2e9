"""What the job tells in numbers: every metric is defined once, and shown as Prometheus and as Flink's REST show it."""
