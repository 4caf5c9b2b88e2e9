/** Versions of cells by offset: the eras of a topic's log, in which offsets compare in one way. */
package io.milepost.version;
