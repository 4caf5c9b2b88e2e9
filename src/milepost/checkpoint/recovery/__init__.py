"""What is checked, set aside or rolled back in a checkpoint directory before a job starts on it."""
