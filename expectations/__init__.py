"""What must hold of the tables: one suite of expectations per table, built from the spec."""
