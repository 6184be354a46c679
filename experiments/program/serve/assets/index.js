// The studies of a folder: how far each is, and what it found.
import { make, set_text, run_url, file_url, duration, progress_words, left_words, progress_bar, follow, show_machine } from "./dom.js";

function row_of(run, on_choice) {
  const bar = progress_bar();
  const node = {
    title: make("a", { href: run_url(run) }),
    id: make("span", { class: "muted" }),
    words: make("span"),
    left: make("span", { class: "muted" }),
    claims: make("span"),
    finding: make("span", { class: "muted finding" }),
    tags: make("span", { class: "tags" }),
    note: make("span", { class: "muted note" }),
    report: make("a", { text: "report", hidden: true }),
    problem: make("span", { class: "problem" }),
    choose: make("input", { type: "checkbox", "aria-label": `compare ${run.study} ${run.profile}`, onchange: on_choice }),
  };
  const row = make("tr", {},
    make("td", { class: "choose" }, node.choose),
    make("th", { scope: "row" }, node.title, make("br"), node.id, node.tags, node.note),
    make("td", { class: "state" }, bar.node, node.words, " ", node.left, node.problem),
    make("td", {}, node.claims, node.finding),
    make("td", {}, node.report));
  return {
    row, node,
    get run() { return run; },
    update(now) {
      run = now;
      set_text(node.title, now.title || now.study);
      set_text(node.id, `${now.study} · ${now.profile}`);
      bar.node.hidden = !now.is_read;
      set_text(node.problem, now.problem || "");
      node.choose.disabled = !now.is_read;
      if (now.is_read) {
        bar.update(now);
        set_text(node.words, progress_words(now));
        set_text(node.left, left_words(now));
      }
      const claims = [];
      if (now.paper_claims) claims.push(`paper: ${now.paper_claims}`);
      if (now.theorem_claims) claims.push(`theorems: ${now.theorem_claims}`);
      if (now.our_claims) claims.push(`ours: ${now.our_claims}`);
      set_text(node.claims, claims.join("; "));
      set_text(node.finding, now.finding);
      node.report.hidden = !now.pages.includes("report.html");
      if (!node.report.hidden) node.report.href = file_url(now, "report.html");
      if (node.tags.dataset.tags !== JSON.stringify(now.tags)) {
        node.tags.dataset.tags = JSON.stringify(now.tags);
        node.tags.replaceChildren(...now.tags.map((tag) => make("span", { class: "tag", text: tag })));
      }
      set_text(node.note, now.notes.length ? now.notes[now.notes.length - 1].text : "");
    },
    text: () => `${run.title} ${run.study} ${run.profile} ${run.tags.join(" ")} ${run.notes.map((n) => n.text).join(" ")}`.toLowerCase(),
  };
}

export function show_index(main) {
  const rows = new Map();
  const chosen = () => [...rows.values()].filter((row) => row.node.choose.checked).map((row) => row.run);
  const most = 8;
  const compare = make("button", { type: "button", disabled: true, text: "Compare", title: "two runs or more", onclick: () => {
    location.href = `/compare?${new URLSearchParams(chosen().map((run, i) => ["abcdefgh"[i], `${run.study}/${run.profile}`]))}`;
  } });
  const on_choice = () => { compare.disabled = chosen().length < 2 || chosen().length > most; };
  const filter = make("input", { type: "search", "aria-label": "Show studies with these words", placeholder: "filter by word or tag", oninput: () => show_matching() });
  const count = make("p", { class: "muted", role: "status", text: "Reading the stores…" });
  const body = make("tbody");
  const pages = make("p");
  function show_matching() {
    const words = filter.value.toLowerCase().split(/\s+/).filter((word) => word);
    for (const row of rows.values()) row.row.hidden = !words.every((word) => row.text().includes(word));
  }
  main.replaceChildren(
    make("h1", { text: "Studies" }), count,
    make("div", { class: "tools" }, filter, compare),
    make("table", { class: "runs" },
      make("thead", {}, make("tr", {}, make("th", {}, make("span", { class: "unseen", text: "compare" })), make("th", { text: "study" }), make("th", { text: "trials" }), make("th", { text: "claims and finding" }), make("th", { text: "report" }))),
      body),
    pages);
  follow("/api/events", (state) => {
    show_machine(state.machine);
    const names = new Set();
    for (const run of state.runs) {
      const name = `${run.study}/${run.profile}`;
      names.add(name);
      if (!rows.has(name)) rows.set(name, row_of(run, on_choice));
      rows.get(name).update(run);
    }
    for (const [name, row] of rows) if (!names.has(name)) { row.row.remove(); rows.delete(name); }
    // Runs in training come first.
    const order = state.runs.map((run) => rows.get(`${run.study}/${run.profile}`)).sort((a, b) => (b.run.running > 0) - (a.run.running > 0));
    order.forEach((row, i) => { if (body.children[i] !== row.row) body.insertBefore(row.row, body.children[i] || null); });
    const running = state.runs.filter((run) => run.running).length;
    const left = state.runs.map((run) => run.seconds_left).filter((seconds) => seconds !== null);
    set_text(count, state.runs.length === 0 ? `${state.out} holds no run yet: headroom run STUDY.toml --out ${state.out}` :
      `${state.runs.length} ${state.runs.length === 1 ? "run" : "runs"} in ${state.out}${running ? `, ${running} training` : ""}${left.length ? `, the last for about ${duration(Math.max(...left))}` : ""}`);
    pages.replaceChildren(...state.pages.flatMap((page) => [make("a", { href: `/files/${encodeURIComponent(page.file)}`, text: page.title }), " "]));
    on_choice();
    show_matching();
  });
}
