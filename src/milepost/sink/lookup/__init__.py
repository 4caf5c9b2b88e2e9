"""Looks up an HBase table over the wire, without a JVM, if the cluster needs no authentication or encryption."""
