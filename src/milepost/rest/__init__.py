"""Flink's REST interface, served by the driver of a running job, and its client."""
