// Learning curves as one chart: a line per trial, redrawn as it grows.
import "./chart.js";
import { make, number, in_column } from "./dom.js";

// The element, the button for its scale, and update(label, lines): what the curves show, and
// [{name, points: [[step, value], …], colour: a number, running}].
export function curves_chart() {
  const svg = charts.add(make("div"), "svg", { class: "chart" });
  const legend = make("ul", { class: "legend" });
  const empty = make("p", { class: "muted", text: "No curve yet." });
  const hint = make("output", { class: "hint muted" });
  let label = "", lines = [], is_log = true, place = null, width = 900, height = 330;
  const toggle = make("button", { type: "button", class: "quiet", "aria-pressed": "true", text: "logarithmic", onclick: () => {
    is_log = !is_log;
    toggle.setAttribute("aria-pressed", String(is_log));
    redraw();
  } });
  const figure = make("figure", {}, svg, hint, empty, legend);

  function value_axis(values) {
    const low = Math.min(...values), high = Math.max(...values);
    if (is_log) return low === high ? charts.logarithmic(low / 2, high * 2) : charts.logarithmic(low, high);
    const margin = (high - low) * 0.04 || Math.abs(low) || 1;
    return charts.linear(low - margin, high + margin, { most: 6 });
  }

  function redraw() {
    const drawn = lines.map((line) => ({ ...line, points: line.points.filter((p) => p[1] !== null && (!is_log || p[1] > 0)) })).filter((line) => line.points.length);
    empty.hidden = drawn.length > 0;
    svg.style.display = drawn.length ? "" : "none";
    place = null;
    legend.replaceChildren();
    if (!drawn.length) return;
    // Drawn for the width that it has: type is as large on a phone as on a desk.
    width = Math.max(280, svg.clientWidth || 900);
    height = width < 600 ? 260 : 330;
    svg.setAttribute("height", height);
    const points = drawn.flatMap((line) => line.points), steps = points.map((p) => p[0]);
    const first = Math.min(...steps), last_of = (line) => line.points[line.points.length - 1][1];
    place = { drawn, ...charts.draw(svg, {
      width, height, left: 64, right: 16, top: 32, bottom: 44,
      title: label,
      description: drawn.slice(0, 12).map((line) => `${line.name} from ${number(line.points[0][1])} to ${number(last_of(line))}`).join("; "),
      x: charts.linear(first, Math.max(...steps, first + 1), { most: width / 110 }), x_label: "step",
      y: value_axis(points.map((p) => p[1])), y_label: label, words: number,
      lines: drawn.map(({ name, points, colour, running }) => ({ name, points, colour: `var(--k${colour % 8})`, is_dashed: colour >= 8,
        end: running ? 4 : 2.5, end_class: running ? "busy" : "" })),
    }) };
    for (const line of drawn)
      legend.append(make("li", {}, make("span", { class: `swatch k${line.colour % 8}` }), `${line.name}: ${in_column(last_of(line))}`));
  }

  svg.addEventListener("pointermove", (event) => {
    if (!place) return;
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * width, y = (event.clientY - box.top) / box.height * height;
    let nearest = Infinity;
    for (const { name, points } of place.drawn)
      for (const [step, value] of points) {
        const distance = (place.px(step) - x) ** 2 + (place.py(value) - y) ** 2;
        if (distance < nearest) { nearest = distance; hint.value = `${name}, step ${step}: ${number(value)}`; }
      }
  });
  svg.addEventListener("pointerleave", () => { hint.value = ""; });

  new ResizeObserver(() => { if (svg.clientWidth && svg.clientWidth !== width) redraw(); }).observe(svg);
  redraw();
  return { node: figure, toggle, update(what, now) { label = what; lines = now; redraw(); } };
}
