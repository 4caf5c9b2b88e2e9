package io.milepost.kafkasink;

import java.lang.reflect.Field;
import java.time.Duration;
import java.util.Arrays;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;

/**
 * A producer whose transaction can be left open by one process and committed by another.
 *
 * <p>Kafka's client does not support this: a new producer with the same id aborts what the previous one left open. To
 * commit, the broker needs only the producer id and its epoch, so these are read from one producer and set in the
 * other, as Flink's Kafka sink does. This uses private fields by name, so it works with one version of the client,
 * the one in our jars; a test checks it.
 */
final class TransactionalProducer extends KafkaProducer<byte[], byte[]> {
  private final String transactionalId;

  private TransactionalProducer(KafkaSinkOptions options, String transactionalId) {
    super(options.producerProperties(transactionalId), new ByteArraySerializer(), new ByteArraySerializer());
    this.transactionalId = transactionalId;
  }

  /** Begins a transaction; aborts one that an earlier producer with this id has left open, and fences that producer. */
  static TransactionalProducer begin(KafkaSinkOptions options, String transactionalId) {
    TransactionalProducer producer = new TransactionalProducer(options, transactionalId);
    try {
      producer.initTransactions();
      producer.beginTransaction();
      return producer;
    } catch (RuntimeException e) {
      producer.leave();
      throw e;
    }
  }

  /** Resumes a transaction that is open and flushed. */
  static TransactionalProducer resume(KafkaSinkOptions options, OpenTransaction transaction) {
    TransactionalProducer producer = new TransactionalProducer(options, transaction.id());
    Object manager = producer.manager();
    synchronized (manager) {
      set(manager, "producerIdAndEpoch", new ProducerIdAndEpoch(transaction.producerId(), transaction.epoch()));
      set(manager, "currentState", state(manager, "IN_TRANSACTION"));
      set(manager, "transactionStarted", true); // else the client thinks that there is nothing to commit
    }
    return producer;
  }

  /** What another process needs in order to commit; everything must be flushed. */
  OpenTransaction open() {
    ProducerIdAndEpoch now = (ProducerIdAndEpoch) get(manager(), "producerIdAndEpoch");
    return new OpenTransaction(transactionalId, now.producerId, now.epoch);
  }

  /**
   * Closes the producer and nothing else: its transaction stays open, since a producer closed without a timeout does
   * not abort.
   */
  void leave() {
    close(Duration.ZERO);
  }

  private Object manager() {
    return get(this, KafkaProducer.class, "transactionManager");
  }

  private static Object state(Object manager, String name) {
    return Arrays.stream(field(manager.getClass(), "currentState").getType().getEnumConstants())
        .filter(each -> ((Enum<?>) each).name().equals(name)).findFirst().orElseThrow();
  }

  private static Object get(Object object, String name) {
    return get(object, object.getClass(), name);
  }

  private static Object get(Object object, Class<?> owner, String name) {
    try {
      return field(owner, name).get(object);
    } catch (IllegalAccessException e) {
      throw unfit(e);
    }
  }

  private static void set(Object object, String name, Object value) {
    try {
      field(object.getClass(), name).set(object, value);
    } catch (IllegalAccessException e) {
      throw unfit(e);
    }
  }

  private static Field field(Class<?> owner, String name) {
    try {
      Field field = owner.getDeclaredField(name);
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException e) {
      throw unfit(e);
    }
  }

  private static IllegalStateException unfit(ReflectiveOperationException e) {
    return new IllegalStateException("This kafka-clients is not the one that the Kafka sink was built with; take foreign"
        + " ones off the class path", e);
  }
}
