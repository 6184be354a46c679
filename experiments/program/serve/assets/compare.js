// Compares runs with the first: their results and their differing settings.
import { latest_curves } from "./run.js";
import { drawn_figure } from "./emerging.js";
import { make, set_text, run_url, number, ask, show_error } from "./dom.js";

// `words`: number of columns at the left that hold words, not numbers.
function table(caption, heads, rows, words) {
  const kind = (i) => i >= words ? "n" : i ? "wrap" : null;
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head, i) => make("th", { class: kind(i), text: head })))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell, i) => make(i ? "td" : "th", { class: kind(i), text: cell })))))));
}

const estimate = (side) => side === null ? "" : side.error === null ? `${number(side.mean)} (one seed)` : `${number(side.mean)} ± ${number(side.error)}`;

// B / A of geometric means, B - A of arithmetic ones.
function change(m, a, b) {
  const value = m.means === "geometric" ? m.ratio : m.difference;
  if (value === null) return "";
  const words = `${b} ${m.means === "geometric" ? "/" : "-"} ${a} = ${number(value)}`;
  return m.low === null ? words : `${words} (${number(m.low)} to ${number(m.high)})`;
}

const listed = (names) => `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;

// Differences of a run from the first: in words, then metrics, then settings.
function against_first(found) {
  const [a, b] = found.runs.map((run) => run.name);
  const metric = (m) => `${m.metric}, ${m.means} means`;
  const is_one = found.metrics.every((m) => metric(m) === metric(found.metrics[0]));  // then the heading names it
  const rows = found.metrics.map((m) => [
    [m.series, m.place].filter((part) => part).join(", ") || "all", ...(is_one ? [] : [metric(m)]), estimate(m.a), estimate(m.b),
    change(m, a, b),
    m.pairs > 1 ? `${m.pairs} paired seeds${m.method.startsWith("crossed") ? ", test data" : ""}` : m.pairs === 1 ? "1 paired seed"
      : m.low !== null ? `${m.a.seeds} and ${m.b.seeds} other seeds` : "no seed in both"]);
  const words = is_one ? 1 : 2, where = is_one && rows.length ? `: ${metric(found.metrics[0])}` : "";
  return [
    make("h2", { text: `${b} against ${a}${where}` }),
    rows.length ? table(`Metrics of ${a} and ${b}`, ["where", ...(is_one ? [] : ["metric"]), a, b, "change (95 %)", "from"], rows, words)
      : make("p", { class: "muted", text: "They have no finished trial at the same place of the same series." }),
    ...found.remarks.map((remark) => make("p", { class: "muted", text: remark })),
    found.settings.length ? table(`Settings of ${a} and ${b} that differ`, ["setting that differs", a, b], found.settings.map((s) => [s.key, s.a || "–", s.b || "–"]), 3)
      : make("p", { class: "muted", text: "No setting differs." }),
    found.same.length ? make("details", {}, make("summary", { text: `${found.same.length} settings are the same` }),
      table("Settings that are the same", ["setting", "value"], found.same.map((s) => [s.key, s.value]), 2)) : null,
  ];
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
  const others = found.others || [], all = [found, ...others], runs = [found.runs[0], ...all.map((one) => one.runs[1])];
  const link = (run) => make("a", { href: run_url(run), text: `${run.study} · ${run.profile}` });
  main.replaceChildren(...[
    make("h1", { text: listed(runs.map((run) => `${run.study} · ${run.profile}`)) }),
    ...all.map((one) => one.finding && make("p", { class: "answer", text: one.finding })),
    ...runs.map((run) => make("p", { class: "muted" }, `${run.name}: `, link(run), ` ${run.title}, ${run.finished} of ${run.planned} trials finished`)),
    found.figure && found.figure.wide && drawn_figure(found.figure),
    ...all.flatMap(against_first),
    make("div", { class: "pair" }, ...runs.map((run) => make("section", { "aria-label": `Learning curves of ${run.name}` }, make("h2", { text: run.name }), latest_curves(run)))),
  ].filter((node) => node));
}
