/** A record's identity, and what becomes of a record that cannot be applied. */
package io.milepost.record;
