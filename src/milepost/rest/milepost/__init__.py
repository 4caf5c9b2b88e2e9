"""Paths under `/milepost/`, for what Flink's REST interface does not have, and the dashboard."""
