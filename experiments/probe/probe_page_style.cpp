#include "experiments/probe/probe_page.h"

namespace headroom::experiments {

// The cells are in the order of layers, then heads. On a wide page a layer is a column, on a narrow one a row.
const char* const kProbeStyle = R"css(
.choice { display: flex; flex-wrap: wrap; align-items: center; gap: .3rem .7rem; }
.choice select { max-width: 100%; padding: .25rem .4rem; font: inherit; color: inherit; background: var(--soft);
  border: 1px solid var(--grid); border-radius: 4px; }
.choice select:focus-visible { outline: 2px solid var(--c0); outline-offset: 1px; }
#meaning { min-height: 2.8em; }
.heat { display: grid; gap: 2px; padding: 3px; grid-auto-flow: column; grid-template-columns: auto;
  grid-auto-columns: minmax(1.05rem, 1fr); grid-template-rows: auto repeat(var(--heads), 1.5rem);
  max-width: calc(2rem + 3rem * var(--layers)); }
.heat span { align-self: center; min-width: 1.1rem; font-size: .7rem; line-height: 1; text-align: center;
  color: var(--muted); font-variant-numeric: tabular-nums; }
.heat button { all: unset; border-radius: 2px; cursor: pointer; -webkit-print-color-adjust: exact;
  print-color-adjust: exact; background: color-mix(in oklab, var(--hue, var(--c0)) var(--v), var(--grid)); }
.heat button.none { background: none; box-shadow: inset 0 0 0 1px var(--grid); }
.heat button:hover { outline: 2px solid var(--muted); outline-offset: 0; }
.heat button[aria-pressed=true] { outline: 2px solid var(--ink); outline-offset: 1px; }
.heat button:focus-visible { outline: 3px solid var(--c1); outline-offset: 1px; }
.key { display: flex; flex-wrap: wrap; align-items: center; gap: .3rem .6rem; max-width: none; }
.bar { width: 9rem; height: .7rem; border-radius: 2px; -webkit-print-color-adjust: exact; print-color-adjust: exact;
  background: linear-gradient(in oklab to right, color-mix(in oklab, var(--c0) 6%, var(--grid)), var(--c0)); }
.bar.signed { background: linear-gradient(in oklab to right, var(--c0), var(--grid), var(--c1)); }
.axes { margin-left: auto; } .axes::after { content: "columns: layers · rows: heads"; }
.value { color: var(--ink); font-variant-numeric: tabular-nums; white-space: nowrap; }
#readout { min-height: 1.6em; font-variant-numeric: tabular-nums; }
.curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 0 1.5rem; }
.curves figure { margin: .8rem 0 .4rem; min-width: 0; }
.curves figcaption { display: flex; flex-wrap: wrap; gap: 0 .9rem; margin-bottom: .2rem; }
.curves figcaption b { flex: 0 0 100%; font-weight: 600; color: var(--ink); }
.curves figcaption i { display: inline-block; width: 1.3rem; margin-right: .35rem; vertical-align: middle;
  border-top: 2px solid; }
.curves figcaption i.dashed { border-top-style: dashed; }
.curves text { font-size: 11px; fill: var(--muted); font-variant-numeric: tabular-nums; }
.curves .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
@media screen and (max-width: 34rem) {
  .heat { grid-auto-flow: row; grid-template-rows: none; grid-auto-rows: 1.5rem;
    grid-template-columns: auto repeat(var(--heads), minmax(1.05rem, 1fr)); max-width: none; }
  .axes { margin-left: 0; } .axes::after { content: "rows: layers · columns: heads"; }
}
@media print { .choice select { display: none; } .choice b { display: inline; } .curves { grid-template-columns: 1fr 1fr; } }
)css";

}  // namespace headroom::experiments
