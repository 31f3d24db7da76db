"""What a fitted model can be asked besides scores of pairs: new links, positions of nodes, reasons, quality."""
