"""Reads YAML text into a validated configuration."""
