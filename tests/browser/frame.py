"""What the tests of pages in a real browser share: the browser, the views, and what every page must satisfy.

A test is a script that is given the program and the source folder. It exits with 77, "skipped" for Meson, where
Playwright or a Chromium is missing."""

import contextlib
import os
import pathlib
import shutil
import sys
import urllib.parse

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


# A figure says what it is, and names both of its axes: in the drawing, or the one above it.
FIGURES = """() => {
  const found = [];
  for (const svg of document.querySelectorAll("figure svg[role=img]")) {
    if (!svg.getClientRects().length) continue;
    const title = svg.querySelector("title"), name = title ? title.textContent.trim() : "";
    if (!name) found.push("a figure without a title");
    const names = [...svg.querySelectorAll("text")].filter(t => /\\p{L}{2}|\\p{L}$/u.test(t.textContent)).length;
    if (names + svg.closest("figure").querySelectorAll("figcaption b").length < 2) found.push("axes without names: " + name);
  }
  return found;
}"""

# What a finger has to hit: 24 px (WCAG 2.2, 2.5.8). Links within sentences may be as low as their line.
SMALL = """() => {
  const found = new Set();
  for (const e of document.querySelectorAll("button, summary, select, input, .contents a, .legend button")) {
    const box = e.getBoundingClientRect();
    if (!box.width || getComputedStyle(e).visibility == "hidden") continue;
    const held = e.closest("label") || e, room = e.type == "checkbox" ? e.closest("td, label") : null;
    const tall = Math.max(box.height, held.getBoundingClientRect().height, room ? room.getBoundingClientRect().height : 0);
    if (tall < 23.5) found.add(tall.toFixed(0) + " px: " + e.tagName + " " + (e.textContent || e.getAttribute("aria-label") || "").slice(0, 30));
  }
  return [...found];
}"""

# The element that has the focus, and whether it shows.
FOCUS = """() => {
  const e = document.activeElement, style = getComputedStyle(e);
  if (!e || e == document.body) return null;
  return [style.outlineStyle != "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow != "none",
          e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 30)];
}"""


def check_looks(shown, where):
    """Nothing is cut or reaches beyond the window, with everything opened, every text has contrast, every figure is named,
    and what a finger has to hit is large enough."""
    shown.evaluate("() => document.querySelectorAll('details').forEach(e => e.open = true)")
    for what in shown.evaluate(FIGURES):
        check(False, "%s: %s" % (where, what))
    if shown.viewport_size["width"] < 600:
        for what in shown.evaluate(SMALL):
            check(False, "%s: small: %s" % (where, what))
    for what in shown.evaluate(CUT):
        check(False, "%s: %s" % (where, what))
    for what in shown.evaluate(CONTRAST):
        check(False, "%s: contrast %s" % (where, what))


def check_links(shown, where, path):
    """Every link of the page in the file `path` leads somewhere: to a place of the page, or to a file that is there."""
    for href in shown.eval_on_selector_all("a[href]", "all => all.map(e => e.getAttribute('href'))"):
        if href.startswith(("data:", "http:", "https:")):
            continue
        file, _, place = urllib.parse.unquote(href).partition("#")
        if place and not file:
            check(shown.locator("[id='%s']" % place).count() == 1, "%s: no place for #%s" % (where, place))
        else:
            check((path.parent / file).exists(), "%s: a link to %s, which is not there" % (where, href))


def check_focus(shown, where, steps=25):
    """Whoever goes through a page by the Tab key sees where they are."""
    seen = set()
    for _ in range(steps):
        shown.keyboard.press("Tab")
        at = shown.evaluate(FOCUS)
        if at and at[1] not in seen:
            seen.add(at[1])
            check(at[0], "%s: the focus does not show on %s" % (where, at[1]))
    check(seen, where + ": nothing takes the focus")


def check_first_screen(shown, where, selector):
    """What the page has to say begins on the first screen."""
    box = shown.locator(selector).first.bounding_box()
    tall = shown.viewport_size["height"]
    check(box and box["y"] + min(box["height"], 60) <= tall, "%s: %s is not on the first screen" % (where, selector))


def check_file(opened, path, views=VIEWS):
    """All of the above, for a page in a file."""
    path = pathlib.Path(path).resolve()
    where = "/".join(path.parts[-3:])
    for view in views:
        name = "%s, %s" % (where, view[0])
        with page(opened, path.as_uri(), view) as shown:
            check(shown.locator("h1").count() == 1, name + ": one heading")
            if shown.locator(".headline").count():
                check_first_screen(shown, name, ".headline")
            check_links(shown, name, path)
            if view is views[0]:
                check_focus(shown, name)
            check_looks(shown, name)
    return where
