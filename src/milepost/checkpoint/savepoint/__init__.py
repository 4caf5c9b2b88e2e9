"""Savepoints: self-contained copies of a completed checkpoint that belong to the user."""
