// One run: its learning curves while they grow, its trials, and what people noted about it.
import { make, set_text, run_url, file_url, duration, in_column, progress_words, left_words, progress_bar, follow, ask, show_machine, show_error, are_changes_on, may_change } from "./dom.js";
import { curves_chart } from "./curves.js";
import { emerging } from "./emerging.js";
import { annotations } from "./annotations.js";

const most_lines = 8;

// The trials of a run and their curves: live ones as events bring them, those of ended trials as they are asked for.
function curves_of(run) {
  const figure = curves_chart();
  const metric = make("select", { "aria-label": "What the curves show", onchange: () => draw() }, make("option", { value: "train loss", text: "training loss" }));
  const trials = new Map(), live = new Map(), ended = new Map();
  let wanted = [];
  function draw() {
    // What all names begin with is said once, above the curves.
    const series = wanted.length > 1 && wanted.every((trial) => trial.series === wanted[0].series) ? wanted[0].series : "";
    const name = metric.selectedOptions[0].textContent;
    figure.update(series ? `${name}, ${series}` : name, wanted.map((trial, colour) => {
      const stored = ended.get(trial.id);
      const points = stored ? stored[metric.value] || [] : metric.value === "train loss" ? live.get(trial.id) || [] : [];
      return { name: trial.series && !series ? `${trial.series}, ${trial.label}` : trial.label, points, colour, running: trial.phase === "running" };
    }));
  }
  async function fetch_ended() {
    const lacking = wanted.filter((trial) => (trial.phase === "finished" || trial.phase === "failed") && !ended.has(trial.id));
    if (!lacking.length) return;
    for (const trial of lacking) ended.set(trial.id, {});
    const url = `${run_url(run, "api/run")}/curves?${new URLSearchParams({ trials: lacking.map((trial) => trial.id).join(",") })}`;
    const answer = await ask(url).catch((error) => {
      for (const trial of lacking) ended.delete(trial.id);  // the next event asks for them again
      throw error;
    });
    for (const [id, tracks] of Object.entries(answer)) {
      ended.set(id, tracks);
      for (const track of Object.keys(tracks))
        if (![...metric.options].some((option) => option.value === track)) metric.append(make("option", { value: track, text: track }));
    }
    draw();
  }
  return {
    node: make("section", {}, make("h2", { text: "Learning curves" }), make("div", { class: "tools" }, metric, figure.toggle), figure.node),
    trials,
    // What an event says of trials; one that has ended since, or begun again, has another curve.
    take(state) {
      for (const [id, points] of Object.entries(state.live)) live.set(id, points);
      for (const trial of state.trials) {
        const before = trials.get(trial.id);
        if (before && before.phase !== trial.phase) ended.delete(trial.id);
        trials.set(trial.id, trial);
      }
    },
    show(now) { wanted = now; draw(); return fetch_ended(); },
  };
}

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
  const curves = curves_of(run);
  follow(events_url(run), (state) => {
    if (!state.is_read) return;
    curves.take(state);
    curves.show(latest([...curves.trials.values()], 5)).catch(() => {});  // a deleted run keeps the curves that it has
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
  const curves = curves_of(run), { trials } = curves, rows = new Map(), result = emerging(run);
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
    curves.show(shown).catch((error) => show_error(problem, error));
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
    curves.take(state);
    for (const trial of state.trials) {
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
