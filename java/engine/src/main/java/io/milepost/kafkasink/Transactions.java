package io.milepost.kafkasink;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTransactionsResult;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidPidMappingException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.InvalidTxnStateException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;

/** The transactions of one job on the driver: checked in step 6, committed after step 8, aborted at a start. */
public final class Transactions implements AutoCloseable {
  private static final int SIDE_BY_SIDE = 8;
  private static final int TIMEOUT_SECONDS = 60;
  /** The prefix of a message about records that can no longer be read. */
  private static final String LOST = "LOST ";

  private final KafkaSinkOptions options;
  private final Admin admin;

  /** Called from Python. */
  public Transactions(Map<String, String> options) {
    this(new KafkaSinkOptions(options));
  }

  Transactions(KafkaSinkOptions options) {
    this.options = options;
    this.admin = Admin.create(options.clientProperties());
  }

  /** Step 6: null if the broker reports every one of these as open; otherwise the message that describes the fault. */
  public String fault(String json) {
    List<OpenTransaction> wanted = OpenTransaction.parse(json);
    DescribeTransactionsResult found = admin.describeTransactions(wanted.stream().map(OpenTransaction::id).toList());
    for (OpenTransaction each : wanted) {
      try {
        TransactionDescription now = found.description(each.id()).get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        if (now.state() != TransactionState.ONGOING || now.producerId() != each.producerId()
            || now.producerEpoch() != each.epoch()) {
          return "transaction " + each.id() + " of producer " + each.producerId() + "/" + each.epoch() + " is " + now.state()
              + " with producer " + now.producerId() + "/" + now.producerEpoch();
        }
      } catch (ExecutionException | TimeoutException e) {
        return "transaction " + each.id() + " could not be looked at: " + reason(e);
      } catch (InterruptedException e) {
        throw interrupted(e);
      }
    }
    return null;
  }

  /**
   * After step 8: commits all of these; may be repeated. Returns null, or the message that describes the fault, which
   * begins with `LOST` if the broker has aborted one of them.
   */
  public String commit(String json) {
    List<OpenTransaction> wanted = OpenTransaction.parse(json);
    if (wanted.isEmpty()) {
      return null;
    }
    ExecutorService threads = Executors.newFixedThreadPool(Math.min(wanted.size(), SIDE_BY_SIDE));
    try {
      List<Callable<String>> tasks = new ArrayList<>();
      wanted.forEach(each -> tasks.add(() -> commit(each)));
      String fault = null;
      for (Future<String> each : threads.invokeAll(tasks)) {
        String answer = each.get();
        if (answer != null && (fault == null || answer.startsWith(LOST))) {
          fault = answer;
        }
      }
      return fault;
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    } catch (InterruptedException e) {
      throw interrupted(e);
    } finally {
      threads.shutdownNow();
    }
  }

  private String commit(OpenTransaction transaction) {
    TransactionalProducer producer = null;
    try {
      producer = TransactionalProducer.resume(options, transaction);
      producer.commitTransaction();
      return null;
    } catch (ProducerFencedException | InvalidProducerEpochException | InvalidTxnStateException
        | InvalidPidMappingException e) {
      return LOST + "transaction " + transaction.id() + " cannot be committed any more: " + e.getMessage();
    } catch (KafkaException e) {
      return "transaction " + transaction.id() + " could not be committed: " + reason(e);
    } finally {
      if (producer != null) {
        producer.leave();
      }
    }
  }

  /**
   * At a start: aborts whatever earlier attempts have left open, however many writers they had. Returns null, or the
   * fault.
   */
  public String abortAll() {
    try {
      List<String> ids = new ArrayList<>();
      var open = new ListTransactionsOptions().filterStates(List.of(TransactionState.ONGOING));
      for (TransactionListing each : admin.listTransactions(open).all().get(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
        if (options.isOurs(each.transactionalId())) {
          ids.add(each.transactionalId());
        }
      }
      return abort(ids, TIMEOUT_SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      return "the open transactions could not be listed: " + reason(e);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  /** Fences the producers with these ids, which aborts their open transactions. Returns null, or the fault. */
  String abort(Collection<String> ids, int seconds) {
    try {
      admin.fenceProducers(ids).all().get(seconds, TimeUnit.SECONDS);
      return null;
    } catch (ExecutionException | TimeoutException e) {
      return "the open transactions could not be aborted: " + reason(e);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  @Override
  public void close() {
    admin.close(java.time.Duration.ofSeconds(5));
  }

  private static String reason(Throwable e) {
    Throwable cause = e instanceof ExecutionException && e.getCause() != null ? e.getCause() : e;
    if (cause instanceof TransactionalIdNotFoundException) {
      return "the broker does not know it";
    }
    return cause.getClass().getSimpleName() + (cause.getMessage() == null ? "" : ": " + cause.getMessage());
  }

  private static IllegalStateException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    return new IllegalStateException("Interrupted while transactions were handled", e);
  }
}
