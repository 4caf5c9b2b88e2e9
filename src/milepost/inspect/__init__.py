"""Looks into what a job has left: checkpoints, offsets, cells. It reads beside a running driver and writes nothing."""
