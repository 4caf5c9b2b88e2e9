package io.milepost.job;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A point in a checkpoint, named by its step, where a test can kill, fail or suspend the driver, or suspend an
 * executor.
 *
 * <p>The environment selects it: `MILEPOST_FAILPOINTS=6-seal-before@3=kill`, comma separated, where `@3` is the third
 * time in this process. Without the variable a failpoint does nothing. Python has the same in
 * `milepost.checkpoint.failpoint`.
 */
public final class Failpoint {
  private static final String VARIABLE = "MILEPOST_FAILPOINTS";
  private static final Pattern RULE = Pattern.compile("(?<name>[1-9]-[a-z-]+)(@(?<time>[1-9]\\d{0,8}))?=(?<action>kill|raise|stop|pause)");
  /** What a shell shows for a process that SIGKILL has ended. */
  private static final int KILLED = 137;
  private static final Map<String, Failpoint> ARMED = parse(System.getenv(VARIABLE));

  enum Action { KILL, RAISE, STOP, PAUSE }

  private record Rule(int time, Action action) {}

  /** Thrown by the action `raise`. */
  public static final class Reached extends RuntimeException {
    Reached(String name) {
      super("Failpoint " + name + " was reached");
    }
  }

  private final List<Rule> rules = new ArrayList<>();
  private final AtomicInteger reached = new AtomicInteger();

  private Failpoint() {}

  /** Called at the step of this name; returns immediately unless the environment selects it. */
  public static void reach(String name) {
    if (ARMED.isEmpty()) {
      return;
    }
    Action action = due(ARMED, name);
    if (action != null) {
      act(action, name);
    }
  }

  static Map<String, Failpoint> parse(String text) {
    Map<String, Failpoint> armed = new HashMap<>();
    if (text == null || text.isBlank()) {
      return armed;
    }
    for (String part : text.split(",")) {
      Matcher rule = RULE.matcher(part.trim());
      if (!rule.matches()) {
        throw new IllegalArgumentException(VARIABLE + " has '" + part.trim() + "', which is not of the form "
            + "6-seal-before@3=kill (or raise, stop, pause)");
      }
      int time = rule.group("time") == null ? 1 : Integer.parseInt(rule.group("time"));
      armed.computeIfAbsent(rule.group("name"), name -> new Failpoint()).rules
          .add(new Rule(time, Action.valueOf(rule.group("action").toUpperCase(java.util.Locale.ROOT))));
    }
    return armed;
  }

  /** Counts one more arrival; returns the action that is due, or null. */
  static Action due(Map<String, Failpoint> armed, String name) {
    Failpoint failpoint = armed.get(name);
    if (failpoint == null) {
      return null;
    }
    int time = failpoint.reached.incrementAndGet();
    return failpoint.rules.stream().filter(rule -> rule.time == time).map(Rule::action).findFirst().orElse(null);
  }

  private static void act(Action action, String name) {
    switch (action) {
      case RAISE -> throw new Reached(name);
      case KILL -> {
        // The driver is two processes, and Python is the parent; process 1 is never a driver.
        ProcessHandle.current().parent().filter(parent -> parent.pid() > 1).ifPresent(ProcessHandle::destroyForcibly);
        Runtime.getRuntime().halt(KILLED);
      }
      case STOP -> stop();
      case PAUSE -> pause();
    }
  }

  /** Suspends both processes until they receive SIGCONT; Java cannot send signals itself. */
  private static void stop() {
    String parent = ProcessHandle.current().parent().filter(process -> process.pid() > 1)
        .map(process -> process.pid() + " ").orElse("");
    suspend(parent + ProcessHandle.current().pid());
  }

  /** Suspends this executor only: its parent is the worker, or the driver, which must continue without it. */
  private static void pause() {
    suspend(String.valueOf(ProcessHandle.current().pid()));
  }

  private static void suspend(String pids) {
    try {
      Process signal = new ProcessBuilder("sh", "-c", "kill -STOP " + pids).inheritIO().start();
      signal.onExit().join(); // not interruptible: a process suspended in a system call would not notice an interrupt either
    } catch (IOException e) {
      throw new IllegalStateException("The failpoint could not stop the process", e);
    }
  }
}
