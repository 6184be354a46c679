// One run: its learning curves while they grow, its trials, and what people noted about it.
import { make, set_text, run_url, file_url, duration, in_column, progress_words, left_words, progress_bar, follow, ask, show_machine, show_error, are_changes_on, may_change } from "./dom.js";
import { curves_chart } from "./curves.js";
import { emerging } from "./emerging.js";
import { annotations } from "./annotations.js";

const most_lines = 8;

// The running trials, and the last finished ones of the plan, since a short trial has ended before its live
// curve shows much.
function latest(trials, most) {
  const running = trials.filter((trial) => trial.phase === "running").slice(0, most);
  const beside = Math.min(running.length ? 3 : most, most - running.length);
  return beside ? [...running, ...trials.filter((trial) => trial.phase === "finished").slice(-beside)] : running;
}

const events_url = (run) => `/api/events?${new URLSearchParams({ run: `${run.study}/${run.profile}` })}`;

// The latest curves of a run, which go on by themselves.
export function latest_curves(run) {
  const curves = curves_chart(run), trials = new Map();
  follow(events_url(run), (state) => {
    if (!state.is_read) return;
    for (const trial of state.trials) trials.set(trial.id, trial);
    // A deleted run keeps the curves that it has.
    curves.show(latest([...trials.values()], 5).map((trial) => trial.id)).catch(() => {});
  });
  return curves.node;
}

function trial_row(on_choice) {
  const cells = { label: make("th", { scope: "row" }), series: make("td"), phase: make("td"), step: make("td", { class: "n" }), loss: make("td", { class: "n" }), value: make("td", { class: "n" }), time: make("td", { class: "n" }) };
  const box = make("input", { type: "checkbox", onchange: on_choice });
  const row = make("tr", {}, make("td", { class: "choose" }, box), cells.label, cells.series, cells.phase, cells.step, cells.loss, cells.value, cells.time);
  return {
    row, box,
    update(trial) {
      box.setAttribute("aria-label", `show the curve of ${trial.series} ${trial.label}`);
      set_text(cells.label, trial.label);
      set_text(cells.series, trial.series);
      cells.series.hidden = !trial.series;
      set_text(cells.phase, trial.orphaned ? "stopped" : trial.silent ? "silent" : trial.phase);
      cells.phase.className = `phase ${trial.phase.replace(" ", "-")}`;
      cells.phase.title = trial.message || (trial.process ? `process ${trial.process}` : "");
      set_text(cells.step, trial.steps && trial.phase === "running" ? `${trial.step} / ${trial.steps}` : trial.step ? String(trial.step) : "");
      set_text(cells.loss, in_column(trial.loss));
      set_text(cells.value, in_column(trial.value));
      set_text(cells.time, trial.seconds ? duration(trial.seconds) : "");
    },
  };
}

export function show_run(main, run) {
  const curves = curves_chart(run), trials = new Map(), rows = new Map(), result = emerging(run);
  let has_chosen = false;
  const on_choice = () => { has_chosen = true; show_curves(); };
  const title = make("h1"), words = make("span"), left = make("strong"), bar = progress_bar(), problem = make("div"), links = make("p", { class: "links" });
  const series_head = make("th", { text: "series" });
  const value_head = make("th", { class: "n", text: "test" });
  const body = make("tbody");
  const phase = make("select", { "aria-label": "Which trials", onchange: () => show_matching() },
    ...["all trials", "running", "finished", "failed", "to do"].map((name) => make("option", { value: name, text: name })));
  const filter = make("input", { type: "search", "aria-label": "Show trials with these words", placeholder: "filter trials", oninput: () => show_matching() });
  const clear = make("button", { type: "button", text: "Latest curves", onclick: () => { has_chosen = false; show_curves(); } });
  const people = annotations(run);

  function show_matching() {
    const wanted = filter.value.toLowerCase().split(/\s+/).filter((word) => word);
    for (const [id, row] of rows) {
      const trial = trials.get(id), text = `${trial.series} ${trial.label} ${trial.phase} ${trial.message}`.toLowerCase();
      row.row.hidden = (phase.value !== "all trials" && trial.phase !== phase.value) || !wanted.every((word) => text.includes(word));
    }
  }
  function show_curves() {
    const all = [...trials.values()];
    const shown = has_chosen ? all.filter((trial) => rows.get(trial.id).box.checked) : latest(all, most_lines);
    const ids = new Set(shown.map((trial) => trial.id));
    for (const [id, row] of rows) row.box.checked = ids.has(id);
    curves.show(shown.map((trial) => trial.id)).catch((error) => show_error(problem, error));
  }

  set_text(document.getElementById("crumb"), `/ ${run.study} / ${run.profile}`);
  document.title = `${run.study} · headroom`;
  main.replaceChildren(title, make("p", { class: "state", role: "status" }, bar.node, words, left), problem, links, result.node, curves.node,
    make("section", {}, make("h2", { text: "Trials" }), make("div", { class: "tools" }, phase, filter, clear),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Trials" },
        make("table", { class: "trials" }, make("thead", {}, make("tr", {}, make("th", {}, make("span", { class: "unseen", text: "curve" })), make("th", { text: "trial" }), series_head, make("th", { text: "state" }), make("th", { class: "n", text: "step" }), make("th", { class: "n", text: "loss" }), value_head, make("th", { class: "n", text: "took" }))), body))),
    people.node);

  follow(events_url(run), (state) => {
    show_machine(state.machine);
    problem.replaceChildren();
    if (state.problem) show_error(problem, new Error(state.problem));
    if (!state.is_read) return;
    set_text(title, state.title || run.study);
    document.title = `${state.finished}/${state.planned} ${state.title || run.study} · headroom`;
    bar.update(state);
    set_text(words, progress_words(state));
    set_text(left, left_words(state) && ` · ${left_words(state)}`);
    series_head.hidden = state.trials.every((trial) => !trial.series) && ![...trials.values()].some((trial) => trial.series);
    set_text(value_head, state.metric ? `test ${state.metric}` : "test");
    if (links.dataset.pages !== JSON.stringify(state.pages)) {
      links.dataset.pages = JSON.stringify(state.pages);
      links.replaceChildren(...state.pages.flatMap((page, i) => [i ? " · " : "", make("a", { href: file_url(run, page), text: page === "report.html" ? "report" : page.replace(/\.html$/, "") })]));
    }
    result.update(state);
    for (const trial of state.trials) {
      trials.set(trial.id, trial);
      if (!rows.has(trial.id)) rows.set(trial.id, trial_row(on_choice));
      rows.get(trial.id).update(trial);
    }
    // A later round of the study has another plan.
    const ids = new Set(state.order);
    for (const [id, row] of rows) if (!ids.has(id)) { row.row.remove(); rows.delete(id); trials.delete(id); }
    state.order.forEach((id, i) => { if (body.children[i] !== rows.get(id).row) body.insertBefore(rows.get(id).row, body.children[i] || null); });
    people.update(state);
    show_matching();
    show_curves();
  });
  if (!may_change) main.append(make("p", { class: "muted", text: are_changes_on
    ? "To add notes and tags or delete runs, open the address that headroom serve has printed, with all that stands behind its #."
    : "Notes, tags and deletion are off, because others can reach this address." }));
}
