"""Kafka topics as decoded records, and the offsets at which reading starts and stops."""
