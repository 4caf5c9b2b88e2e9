/** Event time that advances with the slowest partition of a source, which Spark's own operator cannot do. */
package io.milepost.watermark;
