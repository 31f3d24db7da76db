"""A CSV file as a spreadsheet writes it: semicolons, decimal commas, umlauts, headers in capitals, empty cells."""

import tempfile
import warnings
from pathlib import Path

import numpy as np

import banditplex as bx

# A made-up office: people have lunch in teams, and ask those for advice with whom they have lunch. Trains are chance.
rng = np.random.default_rng(0)
people = [f"{first} {last}" for first in ("Jürgen", "Zoë", "Ana", "Søren") for last in ("Weiß", "Kraus", "Abel", "Gil")]
pairs = [(a, b) for i, a in enumerate(people) for b in people[i + 1 :]]
lunch = [pair for pair in pairs if rng.random() < (0.7 if pair[0].split()[1] == pair[1].split()[1] else 0.2)]
advice = [pair for pair in lunch if rng.random() < 0.8]
train = [pair for pair in pairs if rng.random() < 0.3]
rows = [(*pair, kind) for kind, each in {"Lunch": lunch, "Advice": advice, "Train": train}.items() for pair in each]

lines = ["PERSON A;PERSON B;KIND;HOURS"]
lines += [f"{a};{b};{kind};{rng.uniform(0, 9):.1f}".replace(".", ",") for a, b, kind in rows]
lines[7] = lines[7].replace(lines[7].split(";")[1], "", 1)  # somebody left a cell empty
path = Path(tempfile.mkdtemp()) / "contacts.csv"
path.write_bytes("\r\n".join(lines).encode("cp1252"))

with warnings.catch_warnings(record=True) as said:  # what is guessed, and what is not used
    warnings.simplefilter("always")
    mx = bx.read(path, source="PERSON A", destination="PERSON B", layer="KIND", weight="HOURS", missing="drop")
print(*(f"said: {str(each.message).partition(': ')[2]}" for each in said), sep="\n")
print(mx, "\n")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # hours are read, and do not count; weighted=True would make them count
    model = bx.LinkPredictor(epochs=10, seed=0).fit(mx, targets=["Advice"])
print(model.layer_gains_.round(3).to_string(index=False), "\n")
print(model.recommend("Advice", top=5).round(2).to_string(index=False))

assert mx.num_edges == len(rows) - 1
assert mx.layer_names == ("Advice", "Lunch", "Train")
assert model.layer_gains_.query("helps")["layer"].tolist() == ["Lunch"]
