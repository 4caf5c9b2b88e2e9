/** Tables as a whole: their description and creation, their versions, and the registry of their writers. */
package io.milepost.hbase.table;
