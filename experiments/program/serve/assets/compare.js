// Two runs side by side: what was set differently, and what came of it.
import { latest_curves } from "./run.js";
import { make, set_text, run_url, number, ask, show_error } from "./dom.js";

// `words`: how many columns at the left hold words, not numbers.
function table(caption, heads, rows, words) {
  const kind = (i) => i >= words ? "n" : i ? "wrap" : null;
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head, i) => make("th", { class: kind(i), text: head })))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, i) => make(i ? "td" : "th", { class: kind(i), text: cell })))))));
}

const estimate = (side) => side === null ? "" : side.error === null ? `${number(side.mean)} (one seed)` : `${number(side.mean)} ± ${number(side.error)}`;

// B / A of geometric means, B - A of arithmetic ones.
function change(m) {
  const value = m.means === "geometric" ? m.ratio : m.difference;
  if (value === null) return "";
  const words = `${m.means === "geometric" ? "B / A" : "B - A"} = ${number(value)}`;
  return m.low === null ? words : `${words} (${number(m.low)} to ${number(m.high)})`;
}

export async function show_comparison(main, query) {
  set_text(document.getElementById("crumb"), "/ compare");
  document.title = "compare · headroom";
  let found;
  try {
    found = await ask(`/api/compare?${query}`);
  } catch (error) {
    return show_error(main, error);
  }
  const [a, b] = found.runs;
  const link = (run) => make("a", { href: run_url(run), text: `${run.study} · ${run.profile}` });
  const rows = found.metrics.map((m) => [
    [m.series, m.place].filter((part) => part).join(", ") || "all", `${m.metric}, ${m.means} means`, estimate(m.a), estimate(m.b),
    change(m),
    m.pairs > 1 ? `${m.pairs} paired seeds${m.method.startsWith("crossed") ? ", test data" : ""}` : m.pairs === 1 ? "1 paired seed" : "no seed in both"]);
  main.replaceChildren(
    make("h1", { text: "Two runs side by side" }),
    make("p", {}, "A: ", link(a), " ", a.title), make("p", {}, "B: ", link(b), " ", b.title),
    make("div", { class: "pair" }, ...[["A", a], ["B", b]].map(([name, run]) =>
      make("section", { "aria-label": `Learning curves of ${name}` }, make("h2", { text: name }), latest_curves(run)))),
    make("h2", { text: "Settings that differ" }),
    found.settings.length ? table("Settings that differ", ["key", "A", "B"], found.settings.map((s) => [s.key, s.a || "–", s.b || "–"]), 3) : make("p", { class: "muted", text: "None: the trials of both have the same configs." }),
    make("h2", { text: "Metrics on the test data" }),
    rows.length ? table("Metrics", ["where", "metric", "A", "B", "change (95 %)", "from"], rows, 2) : make("p", { class: "muted", text: "They have no finished trial at the same place of the same series." }),
    ...found.remarks.map((remark) => make("p", { class: "muted", text: remark })));
}
