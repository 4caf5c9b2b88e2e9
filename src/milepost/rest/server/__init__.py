"""The server of the REST interface: application, authentication, limits, audit log."""
