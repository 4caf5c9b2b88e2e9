"""The spine: what a checkpoint is on disk. Knows no Spark, no Kafka client and no terminal."""
