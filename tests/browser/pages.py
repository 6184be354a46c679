"""Every kind of page that is a file, in a real browser: pages.py PROGRAM SOURCE_FOLDER, or pages.py PAGE.html|FOLDER…

With a program: makes the reports of two studies, their index, the guide, plans and a probe, and looks at each at 1400 and
390 px, light and dark. With pages, or folders of pages such as runs/, at those."""

import pathlib
import subprocess
import sys
import tempfile

import frame
from frame import check

# --html is added to each.
PLANS = {"bound": ["--width", "256", "--token-dim", "8", "--decay", "1,1,1,1"],
         "measured": ["--for", "mlm"],
         "model": ["--layers", "12", "--width", "768", "--heads", "12", "--ffn", "2048", "--vocab", "32000", "--context",
                   "2048", "--on", "h100", "--token-dim", "64", "--decay", "exponential:0.5"]}


def make_pages(program, source, out):
    def run(*arguments):
        subprocess.run([program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)

    studies = [source / "experiments" / (study + ".toml") for study in ("ngram-tradeoff", "lemma-projection")]
    for study in studies:
        run("run", study, "--profile", "smoke", "--out", out, "--quiet")
    run("report", *studies, "--profile", "smoke", "--out", out, "--guide", out / "guide.html")
    for name, arguments in PLANS.items():
        run("plan", *arguments, "--html", out / ("plan-%s.html" % name))
    pretrained = source / "tests/models/pretrained"
    run("probe", pretrained / "checkpoints/smollm2", "--text", pretrained / "text.txt", "--html", out / "probe.html")


def pages_in(place):
    place = pathlib.Path(place)
    return sorted(place.rglob("*.html")) if place.is_dir() else [place]


def main():
    with frame.browser() as opened, tempfile.TemporaryDirectory() as folder:
        given = sys.argv[1:]
        is_made = len(given) == 2 and not given[0].endswith(".html") and pathlib.Path(given[0]).is_file()
        if is_made:
            make_pages(given[0], pathlib.Path(given[1]), pathlib.Path(folder))
            given = [folder]
        seen = [frame.check_file(opened, page) for place in given for page in pages_in(place)]
        print("%d pages" % len(seen))
        check(seen, "there are pages")
        if is_made:
            wanted = ["index.html", "guide.html", "probe.html"] + ["plan-%s.html" % name for name in PLANS]
            check(all(any(page.endswith(name) for page in seen) for name in wanted), "a page of every kind")
    frame.finish()


main()
