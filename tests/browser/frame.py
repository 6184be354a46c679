"""What the tests of pages in a real browser share: the browser, the views, and what every page must satisfy.

A test is a script that is given the program and the source folder. It exits with 77, "skipped" for Meson, where
Playwright or a Chromium is missing."""

import contextlib
import os
import shutil
import sys

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    print("skipped: python3 has no playwright (pip install playwright)")
    sys.exit(77)

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if not CHROMIUM:
    print("skipped: no chromium or google-chrome on PATH")
    sys.exit(77)

# name, width, height, colour scheme
VIEWS = [("desktop", 1400, 1000, "light"), ("desktop-dark", 1400, 1000, "dark"),
         ("phone", 390, 844, "light"), ("phone-dark", 390, 844, "dark")]

problems = []


def check(holds, what):
    """Notes a problem; the test goes on, so that one run tells all of them."""
    if not holds:
        problems.append(what)
        print("FAILED:", what)


def finish():
    print("%d problems" % len(problems) if problems else "ok")
    sys.exit(1 if problems else 0)


@contextlib.contextmanager
def browser():
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield opened
        opened.close()


@contextlib.contextmanager
def page(opened, url, view, **more):
    """The page as `view` shows it. What it logs and what it asks the network for are problems. `may_fetch`: a prefix of
    addresses that it may ask for, such as its own server's."""
    name, width, height, scheme = view
    may_fetch = more.pop("may_fetch", None)
    context = opened.new_context(viewport={"width": width, "height": height}, color_scheme=scheme,
                                 has_touch=width < 600, accept_downloads=True, **more)
    shown = context.new_page()
    where = "%s (%s)" % (os.path.basename(url), name)
    shown.on("console", lambda m: check(m.type not in ("error", "warning"), "%s: console: %s" % (where, m.text)))
    shown.on("pageerror", lambda e: check(False, "%s: error: %s" % (where, e)))

    def asked(request):
        allowed = request.url == url or request.url.startswith("data:") or (
            may_fetch and request.url.startswith(may_fetch))
        check(allowed, "%s: asks for %s" % (where, request.url[:80]))

    shown.on("request", asked)
    shown.goto(url)
    yield shown
    context.close()


CUT = """() => {
  const found = [], width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) found.push("the page is wider than the window");
  const scrolls = e => { for (; e; e = e.parentElement)
    if (/auto|scroll/.test(getComputedStyle(e).overflowX)) return true; return false; };
  for (const e of document.querySelectorAll("body *")) {
    const box = e.getBoundingClientRect();
    if (!box.width || e.closest("svg svg, script") || scrolls(e)) continue;
    if (box.right > width + 1 || box.left < -1) found.push("outside: " + e.tagName + "." + e.getAttribute("class"));
  }
  for (const svg of document.querySelectorAll("svg[role=img]")) {
    const frame = svg.getBoundingClientRect();
    if (!frame.width) continue;
    for (const e of svg.querySelectorAll("text")) {
      const box = e.getBoundingClientRect();
      if (box.width && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 ||
                        box.bottom > frame.bottom + 1)) found.push("cut: " + e.textContent);
    }
  }
  for (const e of document.querySelectorAll("button, summary, th, .status"))
    if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow == "hidden") found.push("cut: " + e.textContent);
  return found;
}"""

# WCAG 2: 4.5 for text, 3 for large text.
CONTRAST = """() => {
  const parse = c => { const m = c.match(/[\\d.]+/g); return m ? m.map(Number) : [0, 0, 0, 0]; };
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255;
    return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor); if (c.length == 3 || c[3] > .5) return c; }
    return parse(getComputedStyle(document.documentElement).colorScheme == "dark" ? "0 0 0" : "255 255 255"); };
  const found = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent.trim(), e = walk.currentNode.parentElement;
    if (!text || !e.getClientRects().length || e.closest("script, title, desc, style")) continue;
    const style = getComputedStyle(e), ink = parse(e.closest("svg") ? style.fill : style.color), size = parseFloat(style.fontSize);
    const a = light(ink), b = light(ground(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 600);
    if (ratio < (large ? 3 : 4.5)) found.add(ratio.toFixed(1) + ": " + text.slice(0, 40));
  }
  return [...found];
}"""


def check_looks(shown, where):
    """Nothing is cut or reaches beyond the window, with everything opened, and every text has contrast."""
    shown.evaluate("() => document.querySelectorAll('details').forEach(e => e.open = true)")
    for what in shown.evaluate(CUT):
        check(False, "%s: %s" % (where, what))
    for what in shown.evaluate(CONTRAST):
        check(False, "%s: contrast %s" % (where, what))
