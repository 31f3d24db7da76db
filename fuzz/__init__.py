"""A fuzzer that knows the structure of files: valid files are damaged, and every reader must refuse or read them.

`python -m fuzz --inputs 20000` (or `make fuzz`) runs it. Only `InputError` may come out, in one line, within the
limits of `runner`. `--start N --inputs 1` repeats input N, and `--keep DIR` keeps its files.
"""
