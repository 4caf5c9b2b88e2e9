"""What a server knows of a job beside its memory: samples, what the history tells, answers of the broker."""
