"""Versions of cells: how they are made, remembered and rolled back."""
