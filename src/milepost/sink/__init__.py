"""Rows into HBase: the mapping, its checks before the start, and the options of the Java sink."""
