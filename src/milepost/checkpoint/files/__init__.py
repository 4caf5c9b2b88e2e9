"""What is on disk: Spark's logs as we read them, and our manifests, history and lease beside them."""
