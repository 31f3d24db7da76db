"""The open problems of the paper: layers per draw, steps per draw, prices, layer losses."""
