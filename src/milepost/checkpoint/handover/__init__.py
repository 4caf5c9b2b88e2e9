"""Between plain Spark and Milepost: a checkpoint directory is taken over from the one, or given back to it."""
