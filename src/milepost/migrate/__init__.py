"""Moves a job between worlds: adopt a plain Spark query, export to one, roll back, repartition its state."""
