/** Rows to the driver, for sinks that are written in Python: each checkpoint's are handed over in its step 6. */
package io.milepost.collect;
