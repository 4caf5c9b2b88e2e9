"""The types of configuration values."""
