"""Runs a pipeline: opens the Spark session, starts the query, restarts it after failures and stops it."""
