"""Tables: one reader for edges, nodes and pairs, in text, Excel and Parquet, with one object for the options."""
