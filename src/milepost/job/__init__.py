"""What runs a pipeline: the Spark session, the query, its pace and its end."""
