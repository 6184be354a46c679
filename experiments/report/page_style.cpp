#include <fmt/format.h>

#include "experiments/report/page_sections.h"
#include "experiments/report/svg.h"

namespace headroom::experiments {
namespace {

const char* const kRules = R"css(
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 3rem 1.25rem 4rem; max-width: 52rem; background: var(--paper); color: var(--ink);
  overflow-wrap: anywhere;
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
h1 { margin: .2rem 0 .4rem; font-size: 1.75rem; line-height: 1.25; font-weight: 650; letter-spacing: -.01em; }
h2 { margin: 3rem 0 .75rem; font-size: 1.2rem; font-weight: 650; }
h3 { margin: 1.75rem 0 .25rem; font-size: 1rem; font-weight: 600; }
p { margin: .4rem 0; max-width: 44rem; }
a { color: var(--c0); text-underline-offset: .15em; }
code, pre, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .86em; }
.over, .muted, figcaption, .notes { color: var(--muted); }
.over { margin: 0; font-size: .9rem; }
.muted, figcaption, .notes { font-size: .875rem; }

ul.verdicts { margin: 0; padding: 0; list-style: none; }
ul.verdicts > li { padding: 1rem 0 1.1rem; border-top: 1px solid var(--grid); }
ul.verdicts > li:last-child { border-bottom: 1px solid var(--grid); }
.verdict { display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .8rem; }
.status { flex: 0 0 auto; font-weight: 650; }
.status::before { content: ""; display: inline-block; width: .6em; height: .6em; margin-right: .5em; border-radius: 50%;
  background: currentColor; }
.pass .status { color: var(--good); } .fail .status { color: var(--warn); }
.undecided .status { color: var(--unsure); } .not-run .status { color: var(--muted); }
.not-run .status::before { background: none; border: 2px solid currentColor; }
.claim { color: var(--muted); }
.numbers { margin-left: 1.5em; }
.headline { margin: 1.5rem 0 0; font-size: 1.15rem; }
.why { padding-left: .8rem; border-left: 3px solid var(--grid); }
.notes { margin: .3rem 0 0; padding-left: 1.1rem; }

figure { margin: 1rem 0 1.5rem; }
figure svg { display: block; width: 100%; height: auto; font-family: inherit; }
figure svg text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
.narrow, .other, .on-other .as-drawn { display: none; } .on-other .other { display: block; }
.plot { position: relative; }
.plot svg[role=img]:focus-visible { outline: 2px solid var(--c0); outline-offset: 2px; }
.plot .off, .no-seeds .seeds, .no-interval .interval { display: none; }
.plot .interval { opacity: .6; }
.mark.told { stroke: var(--ink); stroke-width: 1.5; }
.tip { position: absolute; z-index: 2; max-width: min(20rem, 90%); padding: .3rem .55rem; border-radius: 4px; pointer-events: none;
  background: var(--ink); color: var(--paper); font-size: .8rem; line-height: 1.35; }
.legend { display: flex; flex-wrap: wrap; gap: .15rem .9rem; margin: .3rem 0; padding: 0; list-style: none; font-size: .85rem; }
.legend li, .legend button { display: inline-flex; align-items: center; gap: .4rem; text-align: left; }
figure svg.swatch { flex: 0 0 auto; width: 22px; height: 10px; }
.legend button, .tools button { all: unset; display: inline-flex; align-items: center; gap: .4rem; cursor: pointer; padding: .15rem .3rem;
  border-radius: 4px; }
.legend button:hover, .tools button:hover { background: var(--soft); }
.legend button:focus-visible, .tools button:focus-visible { outline: 2px solid var(--c0); outline-offset: 1px; }
.legend button[aria-pressed=false] { color: var(--muted); text-decoration: line-through; }
.legend button[aria-pressed=false] .swatch { opacity: .3; }
.tools { display: flex; flex-wrap: wrap; gap: .3rem .5rem; margin: .3rem 0; font-size: .8rem; }
.tools button { padding: .15rem .55rem; border: 1px solid var(--line); }
.tools button[aria-pressed=true] { background: var(--soft); border-color: var(--ink); }
.downloads { display: inline-flex; gap: .3rem; margin-left: auto; }
/* A shade at an edge behind which more columns stand. */
.scroll {
  overflow-x: auto;
  background: linear-gradient(to right, var(--paper) 30%, transparent) left / 3rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 30%, transparent) right / 3rem 100% no-repeat local,
    linear-gradient(to right, var(--shade), transparent) left / 1.1rem 100% no-repeat scroll,
    linear-gradient(to left, var(--shade), transparent) right / 1.1rem 100% no-repeat scroll;
}
table { width: 100%; overflow-wrap: normal; border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .38rem .9rem .38rem 0; text-align: right; vertical-align: baseline; white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
thead button { all: unset; display: inline-block; padding: .1rem 0; cursor: pointer; white-space: nowrap; }
thead button:hover { color: var(--ink); }
thead button:focus-visible { outline: 2px solid var(--c0); outline-offset: 2px; }
[aria-sort=ascending] button::after { content: " ↑"; } [aria-sort=descending] button::after { content: " ↓"; }
thead th { color: var(--muted); font-weight: 500; border-bottom: 1px solid var(--grid); }
tbody tr + tr > * { border-top: 1px solid var(--grid); }
tbody th { font-weight: 500; }
tr.best > * { background: var(--soft); font-weight: 650; }
.bad { color: var(--warn); }
table.words th, table.words td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
table.sort .word { text-align: left; white-space: normal; } table.sort tbody .word { min-width: 7rem; }
table.words th { width: 12rem; color: var(--muted); font-weight: 400; }
th:first-child, td:first-child { padding-left: .5rem; } table.words th:first-child { padding-left: 0; }
details { margin: 1rem 0; }
summary { cursor: pointer; }
pre { margin: .75rem 0; padding: 1rem 1.1rem; overflow-x: auto; background: var(--soft); border-radius: 6px; line-height: 1.5; }

@media (max-width: 34rem) {
  body { padding: 1.75rem 1rem 3rem; }
  h1 { font-size: 1.4rem; }
  .wide { display: none; } .narrow { display: block; }
  table.words th { width: 7rem; }
}
@media screen and (max-width: 34rem) {
  table.named thead { display: none; }
  table.named, table.named tbody, table.named tr, table.named th, table.named td { display: block; }
  table.named tr { padding: .7rem 0; border-top: 1px solid var(--grid); }
  table.named tbody tr > *, table.named tbody tr + tr > * { min-width: 0; padding: .1rem 0; border: 0; text-align: left;
    white-space: normal; }
  table.named td::before { content: attr(data-head) ": "; color: var(--muted); }
  table.named td:empty { display: none; }
  summary { padding: .1rem 0; }
  .legend button, .tools button, figcaption a { padding-top: .3rem; padding-bottom: .3rem; }
}
@media print {
  @page { margin: 18mm; }
  body { max-width: none; padding: 0; font-size: 10pt; background: none; }
  .wide { display: block; } .narrow, .tools, .tip { display: none; }
  figure, ul.verdicts > li, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
  .scroll { overflow: visible; background: none; }
  table.sort { font-size: 8pt; }
  table.sort tbody .word { min-width: 0; }
  table.sort th, table.sort td, thead button { white-space: normal; }
  table.sort th, table.sort td { padding-right: .5em; overflow-wrap: anywhere; }
  tr.best > *, pre { background: none; }
  pre { padding: 0; white-space: pre-wrap; }
}
)css";

}  // namespace

std::string page_style() {
  const auto colours = [](bool dark) {
    return svg::variables(dark) + (dark ? "--paper: #14171b; --line: #4a525d; --shade: #000000b0; --soft: #1b1f25; "
                                          "--good: #7cd3a3; --unsure: #e2bf63;"
                                        : "--paper: #fdfdfc; --line: #c3c8cf; --shade: #00000038; --soft: #f5f6f7; "
                                          "--good: #1c7245; --unsure: #84610a;");
  };
  return fmt::format(
             "\n:root {{ color-scheme: light dark; {} }}\n"
             "@media screen and (prefers-color-scheme: dark) {{ :root {{ {} }} }}",
             colours(false), colours(true)) +
         kRules;
}

}  // namespace headroom::experiments
