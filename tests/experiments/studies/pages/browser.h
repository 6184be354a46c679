#pragma once
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "experiments/output/file.h"
#include "experiments/output/program.h"
#include "experiments/output/text.h"
#include "tests/experiments/studies/pages/folder.h"

namespace headroom::experiments::testing {

/// How to look at a page.
struct View {
  std::string name;
  int width = 0, height = 0;
  bool dark = false, print = false;
};

inline std::optional<std::filesystem::path> find_browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    if (const auto found = find_program(name)) return found;
  return std::nullopt;
}

inline void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Kept in the page under test alone: errors are collected from the start, and measures written at the end as JSON.
inline const char* const kListen = R"js(<script>
window.problems = [];
window.addEventListener("error", function (e) { window.problems.push(String(e.message)); });
window.addEventListener("securitypolicyviolation", function (e) { window.problems.push("policy: " + e.blockedURI); });
</script>)js";
inline const char* const kMeasure = R"js(<script>
(function () {
  var all = { errors: window.problems, width: document.documentElement.clientWidth,
              page: document.documentElement.scrollWidth, outside: [], figures: [], tiny: [] };
  document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  function scrolls(e) {
    for (; e; e = e.parentElement) if (/auto|scroll/.test(getComputedStyle(e).overflowX)) return true;
    return false;
  }
  document.querySelectorAll("body *").forEach(function (e) {
    var box = e.getBoundingClientRect();
    if (!box.width || e.closest("svg svg, script, .tip") || scrolls(e)) return;
    if (box.right > all.width + 1 || box.left < -1) all.outside.push(e.tagName + " " + e.className + " " + box.right);
  });
  document.querySelectorAll("figure").forEach(function (figure) {
    var svg = Array.from(figure.querySelectorAll("svg[role=img]")).filter(function (s) { return s.getBoundingClientRect().width; });
    var marks = svg.length == 1 ? svg[0].querySelectorAll(".mark").length : -1;
    var frame = svg.length == 1 ? svg[0].getBoundingClientRect() : null, out = 0;
    if (frame) svg[0].querySelectorAll("text, .mark").forEach(function (e) {
      var box = e.getBoundingClientRect();
      if (box.width && (box.right > frame.right + 2 || box.left < frame.left - 2 ||
                        box.top < frame.top - 2 || box.bottom > frame.bottom + 2)) out++;
      var m = e.getScreenCTM(), scale = Math.hypot(m.a, m.b);
      if (e.tagName == "text" && parseFloat(getComputedStyle(e).fontSize) * scale < 9) all.tiny.push(e.textContent);
    });
    if (out) all.outside.push("cut: " + svg[0].querySelector("title").textContent);
    all.figures.push({ visible: svg.length, marks: marks, cut: out, described: !!figure.querySelector("svg desc") });
  });
  var table = document.querySelector("table.sort"), heads = table ? table.tHead.rows[0].cells : [];
  all.sorted = [];
  if (heads.length > 1) {
    heads[1].querySelector("button").click();
    all.sorted = Array.from(table.tBodies[0].rows).map(function (r) { return r.cells[1].textContent; });
    all.direction = heads[1].getAttribute("aria-sort");
  }
  document.querySelectorAll("body *").forEach(function (e) { if (e.tagName != "SCRIPT") e.remove(); });
  var pre = document.createElement("pre");
  pre.id = "measures";
  pre.textContent = "BEGIN" + JSON.stringify(all) + "END";
  window.parent.document.body.appendChild(pre);
}());
</script>)js";

/// The page as `view` sees it: headless browsers take neither a medium nor a colour scheme, so the queries are decided
/// here.
inline std::string as_seen(std::string page, const View& view) {
  replace_all(page, "(prefers-color-scheme: dark)", view.dark ? "(min-width: 1px)" : "(max-width: 0)");
  if (view.print) {
    replace_all(page, "@media print", "@media (min-width: 1px)");
    replace_all(page, "@media screen and", "@media print and");
  }
  return page;
}

/// Browsers have no window as narrow as a phone: the page is shown in a frame of that width.
inline std::string framed(const std::string& page, const View& view) {
  return fmt::format(
      "<!DOCTYPE html><html><head><meta charset=\"utf-8\"/><title>{}</title></head><body style=\"margin:0\"><iframe "
      "style=\"border:0;width:{}px;height:{}px\" srcdoc=\"{}\"></iframe></body></html>",
      view.name, view.width, view.height, escape(page));
}

/// What the browser says after it ran `page` in a window of the view's size, and what it logged.
struct Looked {
  nlohmann::json measures;
  std::string log;
};

/// Opens `page` in `browser` and measures it; leaves NAME.png in `folder`.
inline Looked look(const std::filesystem::path& browser, const std::string& page, const View& view,
                   const std::filesystem::path& folder, const std::string& name) {
  const TemporaryFolder profile;
  std::string seen = as_seen(page, view);
  const std::filesystem::path plain = folder / (name + ".html"), measured = profile / "measured.html";
  write_file(plain, framed(seen, view));
  replace_all(seen, "<meta charset=\"utf-8\"/>", std::string("<meta charset=\"utf-8\"/>") + kListen);
  replace_all(seen, "</body>", std::string(kMeasure) + "</body>");
  write_file(measured, framed(seen, view));
  std::vector<std::string> arguments = {
      "--headless",
      "--disable-gpu",
      "--hide-scrollbars",
      "--no-first-run",
      "--user-data-dir=" + (profile / "profile").string(),
      "--window-size=" + std::to_string(view.width) + "," + std::to_string(view.height)};
  if (geteuid() == 0) arguments.push_back("--no-sandbox");
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), arguments.begin(), arguments.end());
    return run_program(browser, more, "", 120);
  };
  with({"--screenshot=" + (folder / (name + ".png")).string(), "file://" + plain.string()});
  const ProgramResult dom = with({"--enable-logging=stderr", "--dump-dom", "file://" + measured.string()});
  Looked looked;
  looked.log = dom.errors;
  const size_t begin = dom.output.find("BEGIN{"), end = dom.output.find("}END", begin);
  if (begin != std::string::npos && end != std::string::npos) {
    std::string json = dom.output.substr(begin + 5, end + 1 - begin - 5);
    replace_all(json, "&lt;", "<");
    replace_all(json, "&gt;", ">");
    replace_all(json, "&amp;", "&");
    looked.measures = nlohmann::json::parse(json, nullptr, false);
  }
  return looked;
}

}  // namespace headroom::experiments::testing
