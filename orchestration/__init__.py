"""The Dagster wiring and the `medfoundry` command."""
