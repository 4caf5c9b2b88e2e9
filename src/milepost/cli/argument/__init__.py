"""Command-line arguments: their types, resolution and completion."""
