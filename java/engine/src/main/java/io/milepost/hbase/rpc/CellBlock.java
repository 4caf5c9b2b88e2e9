package io.milepost.hbase.rpc;

import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellScanner;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * The cells of a call, encoded before the call is made; HBase's encoder takes it for the first of them.
 *
 * <p>A connection has one thread per server, which encodes cell by cell for all writers: a third of the client's
 * time. This block needs a single write. {@link org.apache.hadoop.hbase.codec.KeyValueCodec} writes the length of a
 * cell and then lets the cell write itself. This one writes itself, followed by the length and the bytes of each
 * further cell, which is the codec's own format.
 */
final class CellBlock extends KeyValue {
  private final int end;

  private CellBlock(byte[] block, int firstLength) {
    super(block, Bytes.SIZEOF_INT, firstLength);
    this.end = block.length;
  }

  /** The cells of the rows in this order; there is at least one. */
  static CellScanner of(List<KeyValue[]> rows) {
    int size = 0;
    for (KeyValue[] row : rows) {
      for (KeyValue cell : row) {
        size = Math.addExact(size, Bytes.SIZEOF_INT + cell.getLength());
      }
    }
    byte[] block = new byte[size];
    int at = 0;
    for (KeyValue[] row : rows) {
      for (KeyValue cell : row) {
        at = Bytes.putInt(block, at, cell.getLength());
        System.arraycopy(cell.getBuffer(), cell.getOffset(), block, at, cell.getLength());
        at += cell.getLength();
      }
    }
    return new Once(new CellBlock(block, rows.get(0)[0].getLength()));
  }

  @Override
  public int write(OutputStream out, boolean withTags) throws IOException {
    out.write(bytes, offset, end - offset);
    return end - offset;
  }

  /** Returns one cell. */
  private static final class Once implements CellScanner {
    private final Cell cell;
    private boolean given;

    Once(Cell cell) {
      this.cell = cell;
    }

    @Override
    public Cell current() {
      return cell;
    }

    @Override
    public boolean advance() {
      boolean first = !given;
      given = true;
      return first;
    }
  }
}
