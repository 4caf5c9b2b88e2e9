/** How Spark's logs and state files become durable on a local file system. */
package io.milepost.checkpoint;
