package io.milepost.hbase.mutation;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The changes of one flush, folded by row and column. Not thread safe.
 *
 * <p>One request is enough for them, with one exception: where the server's clock sets the versions and a row has a
 * put after a delete. Every cell of a request gets the same version there, and the marker would hide the put, so the
 * put is sent later.
 *
 * <p>Readers see the same as if every added change had been sent, wherever a flush cuts the stream: the fold follows
 * HBase's rules for versions and delete markers, and so does a row that is spread over two flushes.
 */
final class MutationBuffer {
  /** Measured: docs/decisions/0009. */
  private static final int REQUEST_ROWS = 1000;
  private static final long REQUEST_BYTES = 1L << 20;
  private static final int FIRST_SLOTS = 2048;
  /** Spreads hashes whose low bits are similar; the golden ratio, as in Fibonacci hashing. */
  private static final int SPREAD = 0x9E3779B9;

  private final int maxRows;
  private final long maxBytes;
  private final List<RowChange> changes = new ArrayList<>();
  /**
   * By hash of the row, with open addressing: the index of the change plus one, or zero. The nodes of a map would
   * cost more than the cells.
   */
  private int[] slots = new int[FIRST_SLOTS];
  private int[] hashes = new int[FIRST_SLOTS];
  private long bytes;
  private boolean marking;

  MutationBuffer(int maxRows, long maxBytes) {
    this.maxRows = maxRows;
    this.maxBytes = maxBytes;
  }

  void add(RowChange change) {
    marking |= change.hasMarkers() && change.isServerTime();
    int hash = Arrays.hashCode(change.row());
    int slot = slot(hash, change.row());
    if (slots[slot] == 0) {
      changes.add(change);
      slots[slot] = changes.size();
      hashes[slot] = hash;
      bytes += change.bytes();
      if (changes.size() > slots.length / 2) {
        grow();
      }
    } else {
      int index = slots[slot] - 1;
      RowChange known = changes.get(index);
      RowChange folded = RowFold.fold(known, change);
      changes.set(index, folded);
      bytes += folded.bytes() - known.bytes();
    }
  }

  /** The slot of the row, or the free slot where it belongs. */
  private int slot(int hash, byte[] row) {
    int slot = start(hash);
    while (slots[slot] != 0
        && (hashes[slot] != hash || !Arrays.equals(changes.get(slots[slot] - 1).row(), row))) {
      slot = slot + 1 & slots.length - 1;
    }
    return slot;
  }

  private int start(int hash) {
    return hash * SPREAD >>> Integer.numberOfLeadingZeros(slots.length - 1);
  }

  private void grow() {
    int[] oldSlots = slots;
    int[] oldHashes = hashes;
    slots = new int[oldSlots.length * 2];
    hashes = new int[slots.length];
    for (int i = 0; i < oldSlots.length; i++) {
      if (oldSlots[i] != 0) {
        int slot = start(oldHashes[i]);
        while (slots[slot] != 0) {
          slot = slot + 1 & slots.length - 1;
        }
        slots[slot] = oldSlots[i];
        hashes[slot] = oldHashes[i];
      }
    }
  }

  boolean isEmpty() {
    return changes.isEmpty();
  }

  /** True when a request of this size is efficient; a larger one costs hardly less per row, and arrives later. */
  boolean isDue() {
    return isFull() || changes.size() >= REQUEST_ROWS || bytes >= REQUEST_BYTES;
  }

  boolean isFull() {
    return changes.size() >= maxRows || bytes >= maxBytes;
  }

  long bytes() {
    return bytes;
  }

  /** True where a following put must not get the same server time as the markers in this buffer. */
  boolean isMarking() {
    return marking;
  }

  /** What must be sent after {@link #changes}, at a later server time; usually nothing. */
  List<RowChange> laterChanges() {
    if (!marking) {
      return List.of();
    }
    return inOrder(changes).stream().filter(MutationBuffer::isPutLater)
        .map(change -> new RowChange(change.row(), change.puts(), RowChange.NONE)).toList();
  }

  /**
   * One change per row, sorted by row; its delete and its put together where it has both, so that no reader sees only
   * one of them.
   */
  List<RowChange> changes() {
    List<RowChange> ordered = inOrder(changes);
    return !marking ? ordered : ordered.stream().map(change ->
        isPutLater(change) ? new RowChange(change.row(), RowChange.NONE, change.markers()) : change).toList();
  }

  /** Rows of a region are then adjacent, and the server's own sort has nothing to do. */
  private static List<RowChange> inOrder(List<RowChange> changes) {
    RowChange[] ordered = changes.toArray(new RowChange[0]);
    Arrays.sort(ordered, Comparator.comparing(RowChange::row, Arrays::compareUnsigned));
    return Arrays.asList(ordered);
  }

  private static boolean isPutLater(RowChange change) {
    return change.hasPuts() && change.hasMarkers() && change.isServerTime()
        && RowFold.visible(change.puts(), change.markers()) != change.puts();
  }
}
