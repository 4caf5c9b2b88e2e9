package io.milepost.net;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;

/**
 * Checks whether a service listens at all: its client would retry a closed port for as long as it would wait for an
 * answer.
 */
public final class OpenPort {
  private static final int CONNECT_MILLIS = 1000;
  private static final long PAUSE_MILLIS = 250;

  private OpenPort() {}

  /**
   * Returns when one of the servers (host:port) does not refuse a connection, and throws where all of them still do at
   * `until`, a moment of {@link System#nanoTime}. A server that is slow, or whose name is not known, is left to the client.
   */
  public static void await(List<String> servers, long until) throws IOException, InterruptedException {
    while (servers.stream().allMatch(OpenPort::isRefused)) {
      if (System.nanoTime() - until > 0) {
        throw new ConnectException("Connection refused by " + String.join(", ", servers) + ": nothing listens there");
      }
      Thread.sleep(PAUSE_MILLIS);
    }
  }

  private static boolean isRefused(String server) {
    int colon = server.lastIndexOf(':');
    String host = server.substring(0, colon).replaceAll("[\\[\\]]", "");
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(host, Integer.parseInt(server.substring(colon + 1))), CONNECT_MILLIS);
      return false;
    } catch (ConnectException e) {
      return true;
    } catch (IOException | RuntimeException e) {
      return false;
    }
  }
}
