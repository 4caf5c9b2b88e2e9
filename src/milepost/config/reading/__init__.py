"""From YAML text to a checked configuration."""
