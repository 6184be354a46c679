// Learning curves of a run's trials as one figure, which the server draws.
import { drawn_figure } from "./emerging.js";
import { make, run_url, ask } from "./dom.js";

// Returns the element and show(ids), which sets the trials to show and fetches their curves anew with every call.
export function curves_chart(run) {
  const place = make("div"), hint = make("output", { class: "hint muted" }), empty = make("p", { class: "muted", text: "No curve yet." });
  let wanted = [], is_log = true, is_asking = false, is_stale = false;
  const track = make("select", { "aria-label": "What the curves show", onchange: () => redraw() }, make("option", { value: "train loss", text: "training loss" }));
  const toggle = make("button", { type: "button", class: "quiet", "aria-pressed": "true", text: "logarithmic", onclick: () => {
    is_log = !is_log;
    toggle.setAttribute("aria-pressed", String(is_log));
    redraw();
  } });

  function take(drawn) {
    for (const name of drawn.tracks)
      if (![...track.options].some((option) => option.value === name)) track.append(make("option", { value: name, text: name }));
    empty.hidden = Boolean(drawn.wide);
    place.replaceChildren(...(drawn.wide ? [drawn_figure(drawn)] : []));
  }
  // Asks one question at a time; changes in between are asked for next.
  async function redraw() {
    is_stale = true;
    if (is_asking) return;
    is_asking = true;
    try {
      while (is_stale) {
        is_stale = false;
        const what = { trials: wanted.join(","), track: track.value, scale: is_log ? "log" : "linear" };
        take(await ask(`${run_url(run, "api/run")}/curves?${new URLSearchParams(what)}`));
      }
    } finally {
      is_asking = false;
    }
  }
  place.addEventListener("pointermove", (event) => {
    const mark = event.target.closest(".mark");
    if (mark) hint.value = mark.textContent;
  });
  place.addEventListener("pointerleave", () => { hint.value = ""; });
  const node = make("section", {}, make("h2", { text: "Learning curves" }), make("div", { class: "tools" }, track, toggle), place, hint, empty);
  return { node, show(ids) { wanted = ids; return redraw(); } };
}
