"""The bodies of answers: what the job is at a moment → JSON as Flink writes it. Pure functions."""
