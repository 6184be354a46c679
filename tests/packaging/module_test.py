"""module_test.py FOLDER: packaging/headroom.py judges a frame by the program in $HEADROOM_PROGRAM."""
import csv
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import headroom  # noqa: E402

ROWS = [{"arm": arm, "seed": seed, "loss": base + 0.01 * (seed % 3) + 0.001 * seed * gain}
        for arm, base, gain in (("plain", 2.0, 1), ("é \"q\"", 1.8, -1)) for seed in range(6)]
CLAIMS = {"runs": {"metric": "loss", "series": "arm"},
          "claim": [{"kind": "less_than", "series": "é \"q\"", "than": {"series": "plain"}, "factor": 1.05,
                     "ours": "the second is 5 % better", "single_rate": "there is none"}]}


class Frame:
    """As much of a pandas frame as judge() asks for."""

    def __init__(self, rows):
        self.rows = rows

    def to_csv(self, path, index):
        assert index is False
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.rows[0])
            writer.writeheader()
            writer.writerows(self.rows)


def passes():
    judged = headroom.judge(Frame(ROWS), CLAIMS)
    verdict = judged["verdicts"][0]
    assert verdict["status"] == "pass", verdict
    assert "--no-record" in judged["runs"]["notes"][-1], judged
    assert 0.88 < verdict["numbers"]["ratio"] < 0.92, verdict


def fails():
    other = {"runs": CLAIMS["runs"], "claim": [{**CLAIMS["claim"][0], "series": "plain", "than": {"series": "é \"q\""}}]}
    assert headroom.judge(Frame(ROWS), other)["verdicts"][0]["status"] == "fail"


def says_what_is_there():
    assert headroom.judge(Frame(ROWS))["runs"] == 12


def paths_and_files():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "runs.csv")
        Frame(ROWS).to_csv(path, index=False)
        claims = pathlib.Path(folder, "claims.toml")
        claims.write_text('[runs]\nmetric = "loss"\nseries = "arm"\n\n[[claim]]\nkind = "less_than"\n'
                          'series = "plain"\nthan = { series = "é \\"q\\"" }\n', encoding="utf-8")
        verdict = headroom.judge([path], claims)["verdicts"][0]
        assert verdict["status"] in ("fail", "undecided"), verdict
        again = headroom.judge(str(path), str(claims))
        assert again == headroom.judge(path, claims)
        assert (again["look"], again["shares"]) == (1, [1]), again
        assert again["runs"]["notes"] == ["12 runs in 2 arms, 6 seeds at each setting, loss."], again
        Frame(ROWS[:-1]).to_csv(path, index=False)
        grown = headroom.judge(path, claims)
        assert (grown["look"], grown["shares"]) == (2, [0.5]), grown
        assert any("look 2" in note for note in grown["runs"]["notes"]), grown
        anytime = headroom.judge(path, claims, "--anytime")
        assert (anytime["look"], anytime["shares"]) == (2, [1]), anytime


def errors_are_the_programs():
    wrong = {"runs": {"metric": "los"}, "claim": CLAIMS["claim"]}
    try:
        headroom.judge(Frame(ROWS), wrong)
    except RuntimeError as error:
        assert 'did you mean "loss"' in str(error), error
        return
    raise AssertionError("no error")


failed = 0
tests = [passes, fails, says_what_is_there, paths_and_files, errors_are_the_programs]
for test in tests:
    try:
        test()
    except Exception as error:  # noqa: BLE001
        failed += 1
        print(f"{test.__name__}: {error!r}")
if tally := os.environ.get("HEADROOM_TALLY"):
    with open(tally, "a", encoding="utf-8") as file:
        file.write(f"python-module: {len(tests) - failed} passed, {failed} failed, 0 skipped\n")
sys.exit(failed > 0)
