"""`banditplex formats`."""

from banditplex.cli.output import Json, print_json, print_table


def formats(as_json: Json = False) -> None:
    """List the formats that can be read and written."""
    from banditplex.io import formats as known

    rows = [
        {"name": f.name, "endings": list(f.suffixes), "holds": sorted(f.holds), "description": f.description}
        for f in known.values()
    ]
    if as_json:
        print_json(rows)
        return
    print_table(
        ["name", "endings", "stores besides edges", "description"],
        [[r["name"], " ".join(r["endings"]), ", ".join(r["holds"]), r["description"]] for r in rows],
    )
