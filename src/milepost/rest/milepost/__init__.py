"""Paths under `/milepost/` for features that Flink's REST interface does not have, and the dashboard."""
