package io.milepost.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.milepost.checkpoint.LocalCheckpointFileManager;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FailpointTest {
  @TempDir
  Path folder;

  @Test
  void nothingIsDueWithoutTheVariable() {
    assertTrue(Failpoint.parse(null).isEmpty());
    assertTrue(Failpoint.parse(" ").isEmpty());
    Failpoint.reach("4-write");
  }

  @Test
  void eachArrivalIsCountedByItself() {
    Map<String, Failpoint> armed = Failpoint.parse("4-write@2=raise, 4-write@4=kill,6-seal-before=stop,4-send=pause");
    assertNull(Failpoint.due(armed, "5-ack"));
    assertNull(Failpoint.due(armed, "4-write"));
    assertEquals(Failpoint.Action.RAISE, Failpoint.due(armed, "4-write"));
    assertNull(Failpoint.due(armed, "4-write"));
    assertEquals(Failpoint.Action.KILL, Failpoint.due(armed, "4-write"));
    assertNull(Failpoint.due(armed, "4-write"));
    assertEquals(Failpoint.Action.STOP, Failpoint.due(armed, "6-seal-before"));
    assertNull(Failpoint.due(armed, "6-seal-before"));
    assertEquals(Failpoint.Action.PAUSE, Failpoint.due(armed, "4-send"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"4-write", "4-write=die", "4-write@0=kill", "4-write@x=kill", "=kill", "write=kill", "4-write=kill,"
      + "5-ack"})
  void aWrongRuleIsTold(String text) {
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> Failpoint.parse(text));
    assertTrue(e.getMessage().startsWith("MILEPOST_FAILPOINTS has '"), e.getMessage());
  }

  /** A log's entry is there after `-after` and not after `-before`; whoever started the JVM dies with it. */
  @ParameterizedTest
  @CsvSource({"3-log-before, offsets, 0", "3-log-after, offsets, 1", "7-commit-before, commits, 0", "7-commit-after, commits, 1"})
  void killEndsBothProcessesAtTheLogsEntry(String name, String log, int entries) throws Exception {
    Process shell = shell(name + "@2=kill", Writer.class, folder.resolve(log).toString());
    assertTrue(shell.waitFor(60, TimeUnit.SECONDS));
    String output = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals("wrote 0\n", output, "neither the second entry's line, nor the shell's");
    assertEquals(137, shell.exitValue(), output);
    try (Stream<Path> files = Files.list(folder.resolve(log))) {
      List<String> names = files.map(file -> file.getFileName().toString()).filter(file -> !file.startsWith(".")).sorted().toList();
      assertEquals(entries == 1 ? List.of("0", "1") : List.of("0"), names);
    }
  }

  @Test
  void raiseIsAnExceptionOfItsOwn() throws Exception {
    Process shell = shell("3-log-before=raise", Writer.class, folder.resolve("offsets").toString());
    assertTrue(shell.waitFor(60, TimeUnit.SECONDS));
    String output = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(output.contains("Failpoint$Reached: Failpoint 3-log-before was reached"), output);
    assertTrue(output.endsWith("the shell lives\n"), output);
  }

  @Test
  void stopKeepsBothStandingUntilTheyAreContinued() throws Exception {
    Process shell = shell("3-log-before@2=stop", Writer.class, folder.resolve("offsets").toString());
    try {
      while (!isStopped(shell.pid())) {
        assertTrue(shell.isAlive(), "it went on");
        Thread.onSpinWait();
      }
      ProcessHandle java = shell.children().findFirst().orElseThrow();
      while (!isStopped(java.pid())) {
        assertTrue(java.isAlive(), "it went on");
        Thread.onSpinWait();
      }
      new ProcessBuilder("sh", "-c", "kill -CONT " + shell.pid() + " " + java.pid()).start().waitFor();
      assertTrue(shell.waitFor(60, TimeUnit.SECONDS));
      assertEquals("wrote 0\nwrote 1\nthe shell lives\n",
          new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
    } finally {
      shell.descendants().forEach(ProcessHandle::destroyForcibly);
      shell.destroyForcibly();
    }
  }

  private static boolean isStopped(long pid) throws IOException {
    String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
    return stat.charAt(stat.lastIndexOf(')') + 2) == 'T';
  }

  /** A shell stands for the driver's Python, the parent of the driver's JVM. */
  private static Process shell(String failpoints, Class<?> main, String argument) throws IOException {
    ProcessBuilder builder = new ProcessBuilder("sh", "-c", "\"$0\" -cp \"$1\" \"$2\" \"$3\"; echo the shell lives",
        ProcessHandle.current().info().command().orElseThrow(), System.getProperty("java.class.path"), main.getName(), argument);
    builder.environment().put("MILEPOST_FAILPOINTS", failpoints);
    return builder.redirectErrorStream(true).start();
  }

  /** Writes two entries of a log as Spark does. */
  public static final class Writer {
    private Writer() {}

    public static void main(String[] arguments) throws IOException {
      org.apache.hadoop.fs.Path log = new org.apache.hadoop.fs.Path(arguments[0]);
      LocalCheckpointFileManager files = new LocalCheckpointFileManager(log, new Configuration(false));
      files.createCheckpointDirectory();
      for (int entry = 0; entry < 2; entry++) {
        try (var out = files.createAtomic(new org.apache.hadoop.fs.Path(log, "" + entry), false)) {
          out.write('v');
        }
        System.out.println("wrote " + entry);
      }
    }
  }
}
