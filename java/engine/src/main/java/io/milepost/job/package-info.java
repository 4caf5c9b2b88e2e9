/** What the driver's JVM knows of a running job: its gate, its acknowledgements. Python decides; these classes hold and report. */
package io.milepost.job;
