"""Kafka topics as decoded records, and where reading them begins and ends."""
