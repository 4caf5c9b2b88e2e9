/** What every sink on the spine shares: acknowledgements that add up, and step 6 of a checkpoint. */
package io.milepost.sink;
