"""Commands that move a job: `adopt`, `export`, `rollback`, `savepoint repartition`."""
