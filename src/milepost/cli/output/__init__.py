"""How commands print: console, tables, progress bars, encodings."""
