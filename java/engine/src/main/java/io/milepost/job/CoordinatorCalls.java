package io.milepost.job;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The engine's calls to the coordinator in Python, which fetches them with {@link #next} and answers with {@link #answer}.
 *
 * <p>Python asks and Java waits, not the other way round: so no port is opened for calls from Java to Python, and the
 * engine's thread can be interrupted while it waits for the answer.
 */
public final class CoordinatorCalls implements Coordinator {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** Stands for the id of a call that belongs to no checkpoint. */
  private static final long NO_CHECKPOINT = -2;

  private final Deque<String> calls = new ArrayDeque<>();
  private long answered = -1;
  private String answer;
  private boolean closed;

  @Override
  public synchronized String seal(long checkpointId, String report) {
    return ask("seal", checkpointId, report, "checkpoint " + checkpointId + " was to be sealed");
  }

  @Override
  public synchronized String keepVersions(String eras) {
    return ask("versions", NO_CHECKPOINT, eras, "the eras of versions were to be stored");
  }

  private String ask(String call, long id, String report, String what) {
    answer = null;
    answered = -1;
    post(call, id, report);
    try {
      while (answered != id) {
        if (closed) {
          return "the coordinator is not there any more";
        }
        wait();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new UncheckedIOException(new InterruptedIOException("stopped while " + what));
    }
    return answer;
  }

  @Override
  public synchronized void committed(long checkpointId) {
    post("committed", checkpointId, null);
  }

  /** Called from Python: the next call as JSON, or null when none came in that time or none will come. */
  public synchronized String next(long timeoutMs) throws InterruptedException {
    long deadline = System.nanoTime() + timeoutMs * 1_000_000;
    while (calls.isEmpty()) {
      long left = (deadline - System.nanoTime()) / 1_000_000;
      if (left <= 0 || closed) {
        return null;
      }
      wait(left);
    }
    return calls.removeFirst();
  }

  /** Called from Python: empty when the checkpoint is sealed, else why not. */
  public synchronized void answer(long checkpointId, String verdict) {
    answered = checkpointId;
    answer = verdict;
    notifyAll();
  }

  /** Called from Python when it stops fetching calls: a waiting call is declined. */
  public synchronized void close() {
    closed = true;
    notifyAll();
  }

  public synchronized boolean isClosed() {
    return closed;
  }

  private void post(String call, long checkpointId, String report) {
    ObjectNode json = JSON.createObjectNode();
    json.put("call", call);
    json.put("id", checkpointId);
    if (report != null) {
      json.put("report", report);
    }
    calls.addLast(json.toString());
    notifyAll();
  }
}
