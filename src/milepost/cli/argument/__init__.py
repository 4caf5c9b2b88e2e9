"""How command-line arguments are resolved and completed."""
