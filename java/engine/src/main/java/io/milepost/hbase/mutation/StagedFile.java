package io.milepost.hbase.mutation;

import java.io.Serializable;

/**
 * An HFile that waits to be loaded. Files of a later wave are loaded after those of an earlier one, so that of two cells of
 * one version the later arrival is the one that shows.
 */
public record StagedFile(String path, String family, int wave, long bytes) implements Serializable {}
