"""Flink's REST paths: one module per resource holds its routes and the functions that build their bodies."""
