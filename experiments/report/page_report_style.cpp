#include "experiments/report/page_sections.h"

namespace headroom::experiments {

std::string report_rules() {
  return R"css(
.question { margin: .2rem 0 .5rem; font-size: 1.15rem; }
.changed { padding: .5rem .8rem; border-left: 3px solid var(--unsure); background: var(--soft); }
.setup { display: grid; grid-template-columns: auto 1fr; gap: .35rem 1rem; margin: 1.25rem 0; font-size: .95rem; }
.setup dt { color: var(--muted); }
.setup dd { margin: 0; max-width: 44rem; }
.example { font-variant-numeric: tabular-nums; color: var(--muted); }
.contents { font-size: .875rem; }
.contents ol { margin: 0; padding: 0; list-style: none; }
.contents a { color: inherit; text-decoration: none; }
.contents a:hover, .contents a:focus-visible { text-decoration: underline; }
.contents .level-2 { padding-left: .9rem; color: var(--muted); }
main > section { scroll-margin-top: 1rem; }
table.verdicts { margin: .25rem 0 1.25rem; overflow-wrap: anywhere; }
table.verdicts th, table.verdicts td { text-align: left; white-space: normal; vertical-align: top; padding: .45rem .9rem .45rem 0; }
table.verdicts th:first-child, table.verdicts td:first-child { padding-left: 0; white-space: nowrap; width: 7rem; }
table.verdicts .measured { width: 15rem; color: var(--muted); font-variant-numeric: tabular-nums; }
table.verdicts details { margin: 0; }
table.verdicts details > p, table.verdicts details > ul { margin-left: 1rem; font-size: .9rem; }
table.verdicts .of { color: var(--muted); }
table.verdicts .of::before { content: "· "; }
h3 .muted { font-weight: 400; margin-left: .4rem; }
details.series { margin: 0; padding: .55rem 0; border-top: 1px solid var(--grid); }
details.series:last-of-type { border-bottom: 1px solid var(--grid); }
details.series > summary h3 { display: inline; margin: 0 .4rem 0 0; }
summary:focus-visible, .contents a:focus-visible { outline: 2px solid var(--c0); outline-offset: 2px; }
@media screen and (min-width: 80rem) {
  body:has(.report) { max-width: 74rem; }
  .report { display: grid; grid-template-columns: 13rem minmax(0, 1fr); gap: 3rem; }
  .contents { position: sticky; top: 2rem; align-self: start; max-height: calc(100vh - 4rem); overflow-y: auto; }
  .contents li { padding: .16rem 0; }
}
@media screen and (max-width: 79.99rem) {
  .contents { margin-bottom: 1.25rem; padding-bottom: .8rem; border-bottom: 1px solid var(--grid); }
  .contents ol { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; }
  .contents .level-2 { display: none; }
  .contents a { display: inline-block; padding: .15rem 0; }
}
@media screen and (max-width: 34rem) {
  .opening { display: flex; flex-direction: column; }
  .opening .found { order: -1; }
  .headline { margin-top: .6rem; }
  .setup { grid-template-columns: 1fr; gap: .1rem; }
  .setup dd { margin-bottom: .5rem; }
  table.verdicts thead { display: none; }
  table.verdicts, table.verdicts tbody, table.verdicts tr, table.verdicts td { display: block; width: auto; }
  table.verdicts tr { padding: .5rem 0; border-top: 1px solid var(--grid); }
  table.verdicts tr > td, table.verdicts tbody tr + tr > * { border: 0; padding: .05rem 0; }
  table.verdicts td.measured { width: auto; font-size: .85rem; }
}
@media print {
  .contents { display: none; }
  table.verdicts tr, details.series { break-inside: avoid; }
  details.series::details-content, table.verdicts details::details-content { content-visibility: visible; block-size: auto; }
}
)css";
}

}  // namespace headroom::experiments
