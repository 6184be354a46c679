// A run's results so far: its answer and its figure, drawn by the program as in the report.
import { make, set_text, run_url, ask } from "./dom.js";

// A figure of the program's own, in whose SVG all text of a study is escaped: for a desk and for a phone.
export function drawn_figure(drawn) {
  const sizes = ["wide", "narrow"].map((size) => {
    const box = make("div", { class: size });
    box.innerHTML = drawn[size];
    return box;
  });
  const names = drawn.lines.map((line) => {
    const item = make("li");
    item.innerHTML = line.swatch;
    item.append(line.name);
    return item;
  });
  const legend = make("ul", { class: drawn.named ? "legend narrow" : "legend" }, ...names);
  return make("figure", { class: "drawn" }, ...sizes, legend, drawn.caption && make("figcaption", { text: drawn.caption }));
}

export function emerging(run) {
  const answer = make("p", { class: "answer" }), headline = make("p");
  const figure = make("div");
  const node = make("section", { hidden: true, "aria-label": "What came of it so far" }, answer, headline, figure);
  let shown = -1, is_asking = false;

  return {
    node,
    async update(state) {
      const ended = state.finished + state.failed;
      if (is_asking || !ended || ended === shown) return;
      is_asking = true;
      let known;
      try {
        known = await ask(`${run_url(run, "api/run")}/figure`);
      } catch {
        return;  // the next event asks again
      } finally {
        is_asking = false;
      }
      // A figure may lag behind, so that drawing takes a small part of the time: the next event asks again.
      if (shown === known.ended || !known.answer) return;
      shown = known.ended;
      node.hidden = false;
      set_text(answer, known.answer);
      set_text(headline, known.headline);
      headline.hidden = !known.headline || known.headline === known.answer;
      if (known.wide) figure.replaceChildren(drawn_figure(known));
    },
  };
}
