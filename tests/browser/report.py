"""The report of a study in a real browser: report.py PROGRAM SOURCE_FOLDER, or report.py PAGE.html…"""

import pathlib
import subprocess
import sys
import tempfile

import frame
from frame import check


def tip(shown):
    return shown.locator("figure.plot .tip:visible")


def check_figure(shown, where, is_phone):
    """Values by pointer, touch and keyboard; lines, intervals and scales on and off; downloads."""
    svg = shown.locator("figure.plot svg[role=img]:visible").first
    mark = svg.locator(".mark").first
    spot = mark.bounding_box()
    x, y = spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2
    svg.scroll_into_view_if_needed()
    spot = mark.bounding_box()
    x, y = spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2
    if is_phone:
        shown.touchscreen.tap(x, y)
    else:
        shown.mouse.move(x + 2, y)
    check(tip(shown).count() == 1 and ":" in tip(shown).inner_text(), where + ": a mark tells its value")
    if not is_phone:
        shown.mouse.move(1, 1)
        check(tip(shown).count() == 0, where + ": the value goes with the pointer")
    svg.focus()
    shown.keyboard.press("ArrowRight")
    first = tip(shown).inner_text() if tip(shown).count() else ""
    shown.keyboard.press("ArrowRight")
    second = tip(shown).inner_text() if tip(shown).count() else ""
    check(first and second and first != second, where + ": arrow keys go from value to value")
    shown.keyboard.press("Escape")
    check(tip(shown).count() == 0, where + ": Escape takes the value away")

    figure = shown.locator("figure.plot").first
    line = figure.locator(".legend button").first
    layer = svg.locator(".layer-%s" % figure.locator(".legend li").first.get_attribute("data-layer"))
    before = layer.evaluate_all("all => all.filter(e => e.getClientRects().length).length")
    line.click()
    after = layer.evaluate_all("all => all.filter(e => e.getClientRects().length).length")
    check(before > 0 and after == 0 and line.get_attribute("aria-pressed") == "false", where + ": a line goes off")
    line.click()
    again = layer.evaluate_all("all => all.filter(e => e.getClientRects().length).length")
    check(again == before, where + ": and on again")

    for part, words in (("interval", "95 % intervals"), ("seeds", "single seeds")):
        toggle = figure.locator(".tools button", has_text=words)
        if not toggle.count():
            continue
        group = "g.%s" % part
        state = figure.locator(group + ":visible").count() > 0
        toggle.click()
        check((figure.locator(group + ":visible").count() > 0) != state, "%s: %s go on and off" % (where, words))
        toggle.click()
    scale = figure.locator(".tools button", has_text="axis")
    if scale.count():
        shape = "all => all.filter(e => e.getClientRects().length).map(e => e.textContent).join()"
        drawn = figure.locator("svg text").evaluate_all(shape)
        scale.first.click()
        check(figure.locator("svg text").evaluate_all(shape) != drawn, where + ": the axis changes its scale")
        scale.first.click()
        check(figure.locator("svg text").evaluate_all(shape) == drawn, where + ": and back")
    for name, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with shown.expect_download() as download:
            figure.locator(".downloads button", has_text=name).click()
        saved = pathlib.Path(download.value.path()).read_bytes()
        check(saved.startswith(start) and b"var(--" not in saved, "%s: download as %s" % (where, name))
    with shown.expect_download() as download:
        figure.locator("a[download$='.csv']").click()
    check(pathlib.Path(download.value.path()).read_text().startswith("line,"), where + ": download as CSV")


def check_page(opened, path):
    url = path.resolve().as_uri()
    for view in frame.VIEWS:
        where = "%s, %s" % (path.parent.parent.name, view[0])
        with frame.page(opened, url, view) as shown:
            check(shown.locator("h1").is_visible(), where + ": a heading")
            top = shown.locator("#main-figure figure").bounding_box()["y"]
            check(shown.locator("#verdicts").count() == 0 or top < shown.locator("#verdicts").bounding_box()["y"],
                  where + ": the figure stands before the verdicts")
            check_figure(shown, where, is_phone=view[1] < 600)
            frame.check_looks(shown, where)
    with frame.page(opened, url + "#about", frame.VIEWS[0], may_fetch=url) as shown:
        check(shown.locator("#about").bounding_box()["y"] < 1000, path.name + ": an anchor leads to its section")
    with frame.page(opened, url, frame.VIEWS[0], java_script_enabled=False) as shown:
        check(shown.locator("figure svg[role=img]:visible").count() > 0, "without script: a figure")
        check(shown.locator("table.verdicts, table.sort").count() > 0, "without script: the tables")
    with frame.page(opened, url, ("print", 718, 1000, "light")) as shown:
        shown.emulate_media(media="print")
        check(shown.locator("figure svg[role=img]:visible").count() > 0, "print: a figure")
        check(shown.locator(".tools:visible, .contents:visible").count() == 0, "print: no buttons")
        frame.check_looks(shown, "print")


def main():
    with frame.browser() as opened:
        if sys.argv[1].endswith(".html"):
            for page in sys.argv[1:]:
                check_page(opened, pathlib.Path(page))
            frame.finish()
        program, source = sys.argv[1], pathlib.Path(sys.argv[2])
        with tempfile.TemporaryDirectory() as out:
            for study in ("ngram-tradeoff", "allocation-curve"):
                subprocess.run([program, "run", source / "experiments" / (study + ".toml"), "--profile", "smoke",
                                "--out", out, "--quiet"], check=True, stdout=subprocess.DEVNULL)
                check_page(opened, pathlib.Path(out) / study / "smoke" / "report.html")
    frame.finish()


main()
