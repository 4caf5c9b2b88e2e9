package io.milepost.hbase.mutation;

import java.io.Serializable;

/**
 * An HFile to be loaded. Files of a later wave are loaded after those of an earlier one: of two cells with the same
 * version, the one that arrived later is visible.
 */
public record StagedFile(String path, String family, int wave, long bytes) implements Serializable {}
