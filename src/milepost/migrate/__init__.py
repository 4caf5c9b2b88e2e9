"""Migrates a job: adopts a plain Spark query, exports to one, rolls back, repartitions state."""
