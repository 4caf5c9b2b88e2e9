"""The job as the REST interface shows it: from memory while it runs, from its files afterwards."""
