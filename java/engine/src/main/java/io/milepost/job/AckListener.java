package io.milepost.job;

import java.util.Comparator;
import java.util.Properties;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import org.apache.spark.scheduler.StageInfo;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Sees the writer tasks of a batch end, so that "n of m acknowledged" is known while the batch runs (step 5).
 *
 * <p>Spark delivers these events late and may drop them: they are shown, and nothing is decided by them.
 */
public final class AckListener extends SparkListener {
  private static final String QUERY = "sql.streaming.queryId";
  private static final String BATCH = "streaming.sql.batchId";

  private final Job job;
  private int writerStage = -1;

  public AckListener(Job job) {
    this.job = job;
  }

  @Override
  public void onJobStart(SparkListenerJobStart start) {
    Properties properties = start.properties();
    if (properties == null || properties.getProperty(QUERY) == null || properties.getProperty(BATCH) == null) {
      return;
    }
    CollectionConverters.asJava(start.stageInfos()).stream()
        .max(Comparator.comparingInt(StageInfo::stageId)) // the writers' stage is created last
        .ifPresent(stage -> {
          writerStage = stage.stageId();
          job.batchStarted(Long.parseLong(properties.getProperty(BATCH)), stage.numTasks());
        });
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd end) {
    if (end.stageId() == writerStage && end.taskInfo().successful()) {
      job.taskAcknowledged();
    }
  }
}
