"""The routes: each reads its parameters, calls one function and answers. No route reaches Spark."""
