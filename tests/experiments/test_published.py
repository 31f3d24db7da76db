from experiments.published import Run, _methods, report


def row(method, seed, layer, roc_auc, pairs="as in print"):
    values = {"roc_auc": roc_auc, "average_precision": 0.5, "f1": 0.25, "ap_at_50": 1.0}
    return Run("gatne-amazon", method, seed)._asdict() | {
        "seconds": 3.0, "settings": '{"epochs": 2}', "pairs": pairs, "layer": layer, **values,
    }  # fmt: skip


def test_means_and_medians_stand_above_the_published_numbers():
    values = {0: (0.1, 0.2, 0.9), 1: (0.3, 0.4, 0.5)}  # means .4 and .4, medians .2 and .4
    rows = [row("gatne-t", seed, str(i), value) for seed, each in values.items() for i, value in enumerate(each)]
    rows += [row("gatne-t", 0, "0", 0.6, pairs="no leaks")]
    page = report(rows)
    lines = [line[1:-1].replace(" ", "").split("|") for line in page.parts[0].splitlines()[2:]]
    assert lines[0][:3] == ["gatne-amazon", "gatne-t", "asinprint"]
    assert lines[0][3:] == [".4000", ".5000", ".2500", "1.0000", ".3000", ".5000", "1.0000", "3"]
    assert lines[1][2:] == ["published", ".9744", ".9705", ".9287", "", "", "", "", ""]
    assert lines[2][2:4] == ["noleaks", ".6000"]
    assert len(lines) == 3
    assert page.parts[-1] == "- gatne-amazon, gatne-t: epochs=2"


def test_methods_run_where_they_have_a_published_number():
    asked = ("gatne-t", "simple-torch", "overlap")
    assert _methods("gatne-amazon", asked) == ["gatne-t", "overlap"]
    assert _methods("polypharmacy", asked) == ["simple-torch", "overlap"]
    assert _methods("polypharmacy", None) == ["complex-torch", "simple-torch"]
