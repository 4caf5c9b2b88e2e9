"""Checks and decisions before the first attempt of a job."""
