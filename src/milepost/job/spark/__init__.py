"""The Spark session of a job and its hardening."""
