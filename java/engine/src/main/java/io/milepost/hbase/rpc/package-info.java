/** Direct calls to region servers, which bypass the encoding and batching of HBase's client. */
package io.milepost.hbase.rpc;
