"""Run the benchmarks named on the command line, or all of them."""

import sys
from importlib import import_module
from pkgutil import iter_modules

import benchmarks

known = [module.name for module in iter_modules(benchmarks.__path__) if not module.name.startswith("_")]
wanted = sys.argv[1:] or known
unknown = sorted(set(wanted) - set(known))
if unknown:
    sys.exit(f"Unknown benchmark {unknown[0]!r}; known: {', '.join(known)}.")
for name in wanted:
    print(f"== {name}", flush=True)
    import_module(f"benchmarks.{name}").main()
