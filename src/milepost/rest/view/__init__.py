"""The job as the REST interface sees it: from memory while it runs, from its files afterwards."""
