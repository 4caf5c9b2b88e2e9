"""Writes rows to HBase, Kafka, the console or a Python class: the checks before the start, and the options."""
