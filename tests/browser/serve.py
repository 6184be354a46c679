"""The live view in a real browser, while a study of 200 trials trains: serve.py PROGRAM SOURCE_FOLDER [PICTURES]"""

import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import frame
from frame import check

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from small_study import small_study  # noqa: E402


def study(name, title, steps, seeds):
    return small_study(name, title, f"steps = {steps}", f'"model.heads" = [1, 2, 4, 8]\nseed = {list(seeds)}')


# 200 small trials. The title is hostile; the last claim about it is that nothing of it runs.
MANY = study("many", "Many <img src=x onerror='window.hacked = 1'> trials", 12000, range(50))


class Server:
    """The program's live view of a folder, on a port of its own."""

    def __init__(self, program, out):
        self.process = subprocess.Popen([program, "serve", "--out", out, "--port", "0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.url, _, self.token = self.process.stdout.readline().strip().partition("#")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        check(self.process.wait(timeout=20) == 0, "the server ends with Ctrl-C")


def picture(shown, folder, name):
    if folder:
        shown.screenshot(path=str(pathlib.Path(folder) / (name + ".png")), full_page=True)


def finished(shown):
    """How many trials a run's page says have finished."""
    return int(re.match(r"(\d+) of", shown.locator("p.state span").inner_text()).group(1))


def check_run(opened, server, view, pictures):
    """The page of a run that trains: it moves, and everything is there."""
    where = "run, " + view[0]
    with frame.page(opened, server.url + "run/many/own", view, may_fetch=server.url) as shown:
        shown.wait_for_selector("table.trials tbody tr:nth-child(200)", state="attached")
        check(shown.locator("table.trials tbody tr").count() == 200, where + ": 200 trials")
        check("Many <img src=x" in shown.locator("h1").inner_text(), where + ": the title is text")
        check(shown.evaluate("window.hacked") is None, where + ": a title does not run")
        before = finished(shown)
        shown.wait_for_function("before => parseInt(document.querySelector('p.state span').textContent) > before",
                                arg=before, timeout=60000)
        shown.wait_for_selector("section:has(h2:text('Learning curves')) svg[role=img] path[d*=L]:visible", timeout=60000)
        check("load" in shown.locator("#machine").inner_text(), where + ": the machine's load")
        # By keyboard: a filter, a curve, the axis.
        shown.get_by_label("Show trials with these words").focus()
        shown.keyboard.type("heads=8")
        check(shown.locator("table.trials tbody tr:visible").count() == 50, where + ": the filter")
        shown.keyboard.press("Control+a")
        shown.keyboard.press("Delete")
        shown.get_by_label("Which trials").select_option("finished")
        # One row for good: "the first finished one" is another as soon as a trial further up has ended.
        box = shown.locator("table.trials tbody tr:visible input").first.element_handle()
        label = box.get_attribute("aria-label").removeprefix("show the curve of ").strip()
        box.focus()
        shown.keyboard.press("Space")  # from now on the choice is the user's: no event changes it
        if not box.is_checked():  # it was among the latest
            shown.keyboard.press("Space")
        check(box.is_checked(), where + ": a curve is chosen by keyboard")
        shown.get_by_label("Which trials").select_option("all trials")
        shown.wait_for_selector(".legend li:has-text('%s:')" % label, state="attached")
        scale = shown.get_by_role("button", name="logarithmic")
        scale.focus()
        shown.keyboard.press("Enter")
        check(scale.get_attribute("aria-pressed") == "false", where + ": the axis by keyboard")
        shown.locator("section:has(h2:text('Learning curves')) svg[role=img]:visible .mark").first.hover(force=True)
        check("step" in shown.locator(".hint").inner_text(), where + ": a curve tells its values")
        frame.check_looks(shown, where)
        picture(shown, pictures, "run-" + view[0])


def check_index(opened, server, view, pictures):
    where = "index, " + view[0]
    with frame.page(opened, server.url, view, may_fetch=server.url) as shown:
        shown.wait_for_selector("table.runs tbody tr:nth-child(2)")
        check(shown.locator("table.runs tbody tr").count() == 2, where + ": two runs")
        check("many · own" in shown.locator("table.runs tbody tr").first.inner_text(), where + ": what trains stands first")
        filter_box = shown.get_by_label("Show studies with these words")
        filter_box.fill("other")
        check(shown.locator("table.runs tbody tr:visible").count() == 1, where + ": the filter")
        filter_box.fill("")
        for box in shown.locator("table.runs input").all():
            box.focus()
            shown.keyboard.press("Space")
        for href in shown.eval_on_selector_all("a[href]", "all => all.map(e => e.href)"):
            check(shown.request.get(href).ok, "%s: %s answers" % (where, href))
        frame.check_looks(shown, where)
        frame.check_focus(shown, where)
        picture(shown, pictures, "index-" + view[0])
        shown.get_by_role("button", name="Compare").click()
        shown.wait_for_selector("h1:has-text(' and ')")
        check("train.steps" in shown.locator("main").inner_text(), where + ": what differs")
        for name in "AB":
            shown.wait_for_selector("section[aria-label='Learning curves of %s'] svg[role=img] path[d*=L]:visible" % name)
        frame.check_looks(shown, "compare, " + view[0])
        picture(shown, pictures, "compare-" + view[0])


def check_people(opened, server, pictures):
    """Tags, notes and deletion, in two tabs."""
    view = frame.VIEWS[0]
    url = server.url + "run/other/own"
    with frame.page(opened, url, view, may_fetch=server.url) as shown:
        shown.wait_for_selector("table.trials tbody tr")
        check(shown.get_by_label("A new tag").count() == 0, "without the token nothing can be changed")
    url += "#" + server.token
    with frame.page(opened, url, view, may_fetch=server.url) as one, \
            frame.page(opened, url, view, may_fetch=server.url) as two:
        for tab in (one, two):
            tab.wait_for_selector("table.trials tbody tr")
        one.get_by_label("A new tag").focus()
        one.keyboard.type("seen")
        one.keyboard.press("Enter")
        two.wait_for_selector(".tag:has-text('seen')")
        one.get_by_label("A new note").fill("<script>window.hacked = 1</script> words")
        one.get_by_role("button", name="Add note").click()
        two.wait_for_selector("li:has-text('words')")
        check("<script>" in two.locator("ol.notes").inner_text(), "a note is text")
        check(two.evaluate("window.hacked") is None, "a note does not run")
        two.get_by_role("button", name="remove the tag seen").click()
        one.wait_for_selector(".tag", state="detached")
        report = one.get_by_role("link", name="report")
        check(report.get_attribute("href").endswith("/report.html"), "a finished run links its report")
        one.get_by_role("button", name="Delete this run").click()
        one.wait_for_selector("dialog[open]")
        check(one.evaluate("document.activeElement.textContent") == "Keep it", "the question is answered with no at first")
        frame.check_looks(one, "question")
        picture(one, pictures, "question")
        one.keyboard.press("Escape")
        check(one.locator("dialog[open]").count() == 0, "Escape keeps the run")
        one.get_by_role("button", name="Delete this run").click()
        one.get_by_role("button", name="Delete", exact=True).click()
        one.wait_for_url(server.url)
        two.wait_for_selector("[role=alert]:has-text('not there any more')")


def check_report(opened, server):
    """A report is shown as it was written, where it can ask the server for nothing."""
    with frame.page(opened, server.url + "files/other/own/report.html", frame.VIEWS[0], may_fetch=server.url) as shown:
        check(shown.locator("h1").is_visible(), "a report is shown")
        check(shown.evaluate("self.origin") == "null", "a report has no part in the server's origin")


def main():
    program, pictures = sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else None
    with frame.browser() as opened, tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "many.toml").write_text(MANY)
        (folder / "other.toml").write_text(study("other", "Other", 20, [1, 2]))
        out = str(folder / "runs")
        subprocess.run([program, "run", folder / "other.toml", "--out", out, "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        run = subprocess.Popen([program, "run", folder / "many.toml", "--out", out, "--quiet", "--jobs", "2"],
                               stdout=subprocess.DEVNULL)
        try:
            with Server(program, out) as server:
                for view in frame.VIEWS:
                    check_run(opened, server, view, pictures)
                    check_index(opened, server, view, pictures)
                check_report(opened, server)
                check_people(opened, server, pictures)
                check(run.poll() is None, "the study still trains")
        finally:
            run.send_signal(signal.SIGINT)
            check(run.wait(timeout=60) == 130, "the study stops as always")
    frame.finish()


main()
