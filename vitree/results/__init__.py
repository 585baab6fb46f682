"""What runs leave: records, series of errors, tables, files, drawings and films."""
