"""Metrics, each defined once and exposed both to Prometheus and through Flink's REST interface."""
