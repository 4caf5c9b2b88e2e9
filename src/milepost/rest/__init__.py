"""How a command reaches a running job: Flink's REST interface, served by the driver, and its client."""
