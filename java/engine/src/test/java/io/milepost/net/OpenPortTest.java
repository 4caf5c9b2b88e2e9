package io.milepost.net;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import org.junit.jupiter.api.Test;

class OpenPortTest {
  private static final String CLOSED = "127.0.0.1:1";

  private static long in(long millis) {
    return System.nanoTime() + millis * 1_000_000;
  }

  @Test
  void aPortThatIsOpenIsNotWaitedFor() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      OpenPort.await(List.of(CLOSED, "127.0.0.1:" + server.getLocalPort()), in(60_000));
    }
  }

  @Test
  void aClosedPortIsToldWhenTheTimeIsOver() {
    ConnectException e = assertThrows(ConnectException.class, () -> OpenPort.await(List.of(CLOSED), in(300)));
    assertTrue(e.getMessage().contains(CLOSED), e.getMessage());
  }

  @Test
  void aPortThatOpensLaterIsWaitedFor() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    Thread later = new Thread(() -> {
      try {
        Thread.sleep(500);
        new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    });
    later.start();
    OpenPort.await(List.of("127.0.0.1:" + port), in(30_000));
    later.join();
  }

  @Test
  void aNameThatNobodyKnowsIsLeftToTheClient() throws Exception {
    OpenPort.await(List.of("no-such-host.invalid:9092"), in(0));
    OpenPort.await(List.of("[::1]:x"), in(0));
  }
}
