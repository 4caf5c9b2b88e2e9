/** Rollback: rows written after a boundary get back the values that they had at it. */
package io.milepost.hbase.rollback;
