package io.milepost.collect;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.milepost.sink.WriterAck;
import io.milepost.sink.WriterId;
import java.util.ArrayList;

/** The acknowledgement of one writer, with its rows in it. */
final class CollectAck extends WriterAck {
  private static final long serialVersionUID = 1L;

  private final long rows;
  private final ArrayList<byte[]> pages;

  CollectAck(WriterId id, long rows, ArrayList<byte[]> pages) {
    super(id);
    this.rows = rows;
    this.pages = pages;
  }

  long rows() {
    return rows;
  }

  ArrayList<byte[]> pages() {
    return pages;
  }

  @Override
  protected void describe(ObjectNode json) {
    json.put("rows", rows);
    json.put("bytes", pages.stream().mapToLong(page -> page.length).sum());
  }
}
