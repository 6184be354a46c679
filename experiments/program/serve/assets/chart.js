// Learning curves as one SVG: a line per trial, redrawn as it grows.
import { make, number, in_column } from "./dom.js";

const space = "http://www.w3.org/2000/svg";
const left = 64, right = 16, top = 32, bottom = 44;

function draw(tag, properties, text) {
  const node = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(properties)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// Round steps of 1, 2 or 5 times a power of ten between two numbers.
function ticks(low, high_end, most) {
  const raw = (high_end - low) / most, power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || power;
  const list = [];
  for (let t = Math.ceil(low / step) * step; t <= high_end + step * 1e-9; t += step) list.push(Number(t.toPrecision(12)));
  return list;
}

function log_ticks(low, high_end) {
  const list = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high_end)); ++power)
    for (const m of high_end / low > 300 ? [1] : [1, 2, 5]) list.push(Number((m * 10 ** power).toPrecision(6)));
  return list.filter((t) => t >= low && t <= high_end);
}

// The element, and update(label, lines): what the curves show, and [{name, points: [[step, value], …], running}].
export function chart() {
  const svg = draw("svg", { role: "img", class: "chart" });
  const title = draw("title", {});
  const legend = make("ul", { class: "legend" });
  const empty = make("p", { class: "muted", text: "No curve yet." });
  const hint = make("output", { class: "hint muted" });
  let label = "", lines = [], is_log = true, place = null, wide = 900, high = 330;
  const toggle = make("button", { type: "button", class: "quiet", "aria-pressed": "true", text: "logarithmic", onclick: () => {
    is_log = !is_log;
    toggle.setAttribute("aria-pressed", String(is_log));
    redraw();
  } });
  const figure = make("figure", {}, toggle, svg, hint, empty, legend);

  function redraw() {
    const drawn = lines.map((line) => ({ ...line, points: line.points.filter((p) => p[1] !== null && (!is_log || p[1] > 0)) })).filter((line) => line.points.length);
    const values = drawn.flatMap((line) => line.points.map((p) => p[1]));
    empty.hidden = drawn.length > 0;
    svg.style.display = drawn.length ? "" : "none";
    svg.replaceChildren(title);
    place = null;
    legend.replaceChildren();
    if (!drawn.length) return;
    // Drawn for the width that it has: type is as large on a phone as on a desk.
    wide = Math.max(280, svg.clientWidth || 900);
    high = wide < 600 ? 260 : 330;
    svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    svg.setAttribute("height", high);
    const steps = drawn.flatMap((line) => line.points.map((p) => p[0]));
    const x0 = Math.min(...steps), x1 = Math.max(...steps, x0 + 1);
    let y0 = Math.min(...values), y1 = Math.max(...values);
    if (is_log) [y0, y1] = y0 === y1 ? [y0 / 2, y1 * 2] : [y0, y1];
    else { const margin = (y1 - y0) * 0.04 || Math.abs(y0) || 1; y0 -= margin; y1 += margin; }
    const scale = is_log ? Math.log : (v) => v;
    const px = (x) => left + (x - x0) / (x1 - x0) * (wide - left - right);
    const py = (y) => top + (scale(y1) - scale(y)) / (scale(y1) - scale(y0)) * (high - top - bottom);
    place = { px, py, drawn };
    title.textContent = `${label}: ${drawn.map((line) => `${line.name} from ${number(line.points[0][1])} to ${number(line.points[line.points.length - 1][1])}`).slice(0, 12).join("; ")}`;
    svg.append(draw("text", { x: 0, y: 14 }, label));
    let levels = is_log ? log_ticks(y0, y1) : ticks(y0, y1, 6);
    if (levels.length < 2) levels = ticks(y0, y1, 5);
    for (const y of levels) {
      svg.append(draw("line", { x1: left, x2: wide - right, y1: py(y), y2: py(y), class: "grid" }),
        draw("text", { x: left - 8, y: py(y) + 4, "text-anchor": "end" }, number(y)));
    }
    for (const x of ticks(x0, x1, wide / 110)) {
      const reach = String(x).length * 4;  // half a label's width: those at the ends stay inside
      svg.append(draw("text", { x: Math.min(px(x), wide - reach), y: high - bottom + 18, "text-anchor": "middle" }, String(x)));
    }
    svg.append(draw("text", { x: (left + wide - right) / 2, y: high - 6, "text-anchor": "middle" }, "step"));
    drawn.forEach((line) => {
      const d = line.points.map((p, j) => `${j ? "L" : "M"}${px(p[0]).toFixed(1)} ${py(p[1]).toFixed(1)}`).join("");
      const last = line.points[line.points.length - 1];
      svg.append(draw("path", { d, class: `line k${line.colour % 8}${line.colour >= 8 ? " dashed" : ""}` }),
        draw("circle", { cx: px(last[0]), cy: py(last[1]), r: line.running ? 4 : 2.5, class: `end k${line.colour % 8}${line.running ? " busy" : ""}` }));
      legend.append(make("li", {}, make("span", { class: `swatch k${line.colour % 8}` }), `${line.name}: ${in_column(last[1])}`));
    });
  }

  svg.addEventListener("pointermove", (event) => {
    if (!place) return;
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * wide, y = (event.clientY - box.top) / box.height * high;
    let best = null, nearest = Infinity;
    for (const line of place.drawn)
      for (const p of line.points) {
        const distance = (place.px(p[0]) - x) ** 2 + (place.py(p[1]) - y) ** 2;
        if (distance < nearest) { nearest = distance; best = `${line.name}, step ${p[0]}: ${number(p[1])}`; }
      }
    hint.value = best || "";
  });
  svg.addEventListener("pointerleave", () => { hint.value = ""; });

  new ResizeObserver(() => { if (svg.clientWidth && svg.clientWidth !== wide) redraw(); }).observe(svg);
  redraw();
  return { node: figure, update(what, now) { label = what; lines = now; redraw(); } };
}
