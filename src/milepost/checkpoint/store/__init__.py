"""The files of a checkpoint directory: Spark's logs, which are only read, and our manifests and history beside them."""
