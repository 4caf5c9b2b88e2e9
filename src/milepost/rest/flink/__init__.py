"""Flink's REST paths: each module has the routes of a resource or builds their bodies. No route reaches Spark."""
