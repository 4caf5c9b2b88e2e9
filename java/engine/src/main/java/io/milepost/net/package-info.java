/** Services on the network, before their clients are asked. */
package io.milepost.net;
