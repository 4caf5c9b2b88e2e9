/** How the columns of a row become a row key and the bytes of cells, and back. */
package io.milepost.hbase.mapping;
