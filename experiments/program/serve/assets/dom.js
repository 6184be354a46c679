// Shared by all views: elements, words for numbers, requests.

// Makes an element. Text is always set as text, so that nothing from a study is read as HTML. A property that starts
// with "on" is a listener; null and false leave an attribute out.
export function make(tag, properties, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// Sets text only if it differs, which leaves selected or read-aloud text alone.
export function set_text(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const meta = (name) => document.querySelector(`meta[name="headroom-${name}"]`).content;
export const are_changes_on = meta("changes") === "yes";

// The token comes after the # of the address that the server printed, so that only who started it can change something:
// no page holds it, and no request for a page. It is kept for further pages and taken out of the address.
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  localStorage.setItem("headroom-token", given);
  history.replaceState(null, "", location.pathname + location.search);
}
const token = localStorage.getItem("headroom-token") || "";
export const may_change = are_changes_on && token !== "";

export const run_url = (run, place = "run") =>
  `/${place}/${encodeURIComponent(run.study)}/${encodeURIComponent(run.profile)}`;
export const file_url = (run, name) => `${run_url(run, "files")}/${encodeURIComponent(name)}`;

export function duration(seconds) {
  if (seconds === null || seconds === undefined || !isFinite(seconds)) return "";
  if (seconds < 1) return "under a second";
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86400).toFixed(1)} days`;
}

export function number(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

// Fixed to four digits, for columns of numbers.
export const in_column = (value) => {
  const text = number(value);
  return text === "" || text.includes("e") || Number.isInteger(value) ? text : value.toPrecision(4);
};

export function progress_words(run) {
  const parts = [`${run.finished} of ${run.planned} trials finished`];
  if (run.failed) parts.push(`${run.failed} failed`);
  if (run.running) parts.push(`${run.running} running`);
  if (run.to_do) parts.push(`${run.to_do} to do`);
  if (run.round > 1 || run.most_rounds > 1) parts.push(`round ${run.round}${run.most_rounds ? ` of at most ${run.most_rounds}` : ""}`);
  return parts.join(", ");
}

export function left_words(run) {
  if (run.seconds_left !== null && run.most_trials > run.planned)
    return `about ${duration(run.seconds_left)} left in this round, ${duration(run.most_seconds_left)} if all rounds are needed (${run.most_trials} trials)`;
  if (run.seconds_left !== null) return `about ${duration(run.seconds_left)} left`;
  if (run.running) return "time left not known yet";
  return run.to_do ? "not training now" : "";
}

export function progress_bar() {
  const bar = make("progress", { max: 1, value: 0 });
  return {
    node: bar,
    update(run) {
      bar.value = run.planned ? (run.finished + run.failed) / run.planned : 0;
      bar.setAttribute("aria-label", progress_words(run));
      bar.className = run.failed ? "bad" : run.running ? "busy" : "";
    },
  };
}

export async function ask(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

export async function change(url, what) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Headroom-Token": token },
    body: JSON.stringify(what),
  });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

// Follows a stream of events for as long as the page is looked at: a browser has six connections for all its tabs.
export function follow(url, on_state) {
  const line = document.getElementById("connection");
  let source = null;
  const say = (text) => { line.hidden = !text; set_text(line, text); };
  function open() {
    source = new EventSource(url);
    source.addEventListener("state", (event) => { say(""); on_state(JSON.parse(event.data)); });
    source.addEventListener("error", () => {
      say("The server does not answer. Trying again…");
      if (source.readyState === EventSource.CLOSED) { close(); setTimeout(() => { if (!source && !document.hidden) open(); }, 2000); }
    });
  }
  function close() { if (source) source.close(); source = null; }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else if (!source) open();
  });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", () => { if (!source && !document.hidden) open(); });
  open();
}

export function show_machine(machine) {
  const parts = [];
  if (machine.load !== null) parts.push(`load ${machine.load.toFixed(1)} on ${machine.cores} ${machine.cores === 1 ? "core" : "cores"}`);
  if (machine.memory_total) parts.push(`${((machine.memory_total - machine.memory_free) / 2 ** 30).toFixed(1)} of ${(machine.memory_total / 2 ** 30).toFixed(1)} GiB memory in use`);
  set_text(document.getElementById("machine"), parts.join(" · "));
}

export function show_error(place, error) {
  place.replaceChildren(make("p", { class: "problem", role: "alert", text: error.message || String(error) }));
}
