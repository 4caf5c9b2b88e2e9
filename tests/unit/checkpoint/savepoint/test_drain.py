"""Whether a job can be drained."""

from __future__ import annotations

from tests.unit.checkpoint.spark_directory import SparkDirectory

from milepost.checkpoint.savepoint.drain import refusal


def test_without_state_or_without_a_watermark_nothing_waits(spark: SparkDirectory):
    assert refusal(spark.store) is None
    spark.batches(offsets=[0], commits=[0])
    spark.write("commits/0", 'v1\n{"nextBatchWatermarkMs":5000}')
    assert refusal(spark.store) is None
    spark.write("state/0/0/1.delta", "d")
    spark.write("commits/0", 'v1\n{"nextBatchWatermarkMs":0}')
    assert refusal(spark.store) is None


def test_state_that_waits_for_event_time_cannot_be_drained(spark: SparkDirectory):
    spark.batches(offsets=[0], commits=[0])
    spark.write("state/0/0/1.delta", "d")
    spark.write("commits/0", 'v1\n{"nextBatchWatermarkMs":5000}')
    assert "Stop without drain" in str(refusal(spark.store))
