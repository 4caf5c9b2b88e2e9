package io.milepost.hbase.client;

/** The root cause of an HBase error as one short line: HBase wraps its errors, and its messages can fill pages. */
public final class RootCause {
  private static final int MAX_LENGTH = 300;

  private RootCause() {}

  public static String describe(Throwable error) {
    if (error == null) {
      return "HBase gave no answer";
    }
    Throwable root = error;
    while (root.getCause() != null && root.getCause() != root) {
      root = root.getCause();
    }
    String line = root.getMessage() == null ? "" : ": " + root.getMessage().lines().findFirst().orElse("");
    String clean = (root.getClass().getSimpleName() + line).replaceAll("\\p{Cntrl}", " ");
    return clean.length() > MAX_LENGTH ? clean.substring(0, MAX_LENGTH) + "…" : clean;
  }
}
