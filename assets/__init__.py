"""What is made of a dataset: volumes, annotations, tables, splits."""
