"""Commands that migrate a job: `adopt`, `export`, `rollback`, `savepoint repartition`."""
