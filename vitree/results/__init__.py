"""Results of runs: records, series of errors, tables, files, drawings and films."""
