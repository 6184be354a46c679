// Draws charts as SVG: the curves of the live view, which imports this file, and those of pages, which hold it before
// their own script. It has neither of the characters that XML escapes, since a page is XML, too.
globalThis.charts = (() => {
  const svg_space = "http://www.w3.org/2000/svg";
  let clips = 0;

  // A new last child: an element of SVG inside of one, else of HTML.
  function add(parent, name, attributes, text) {
    const is_svg = name === "svg" || parent.namespaceURI === svg_space;
    const node = is_svg ? document.createElementNS(svg_space, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return parent.appendChild(node);
  }

  // 1, 2 or 5 times a power of ten, of which about `most` fit between the ends.
  function round_step(low, high, most) {
    const least = (high - low || 1) / most, power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= least) || least;
  }
  function multiples(low, high, step) {
    const list = [];
    for (let n = Math.ceil(low / step - 1e-9); high / step + 1e-9 >= n; ++n) list.push(Number((n * step).toPrecision(12)));
    return list;
  }
  // Powers of ten, with their 2 and 5 fold where the ends are near.
  function round_powers(low, high) {
    const decades = Math.log10(high / low), every = Math.ceil(decades / 6), list = [];
    for (let power = Math.floor(Math.log10(low) + 1e-9); Math.log10(high) + 1e-9 >= power; power += every)
      for (const m of decades > 2.5 ? [1] : [1, 2, 5]) list.push(Number((m * 10 ** power).toPrecision(6)));
    const inside = list.filter((t) => [t >= low * (1 - 1e-9), high * (1 + 1e-9) >= t].every(Boolean));
    return inside.length > 1 ? inside : multiples(low, high, round_step(low, high, 5));
  }

  // Axes: where a value is between the ends, as a share, and which values have a name. `is_rounded`: the ends are moved
  // apart to round numbers.
  function linear(low, high, { most = 5, is_rounded = false } = {}) {
    const step = round_step(low, high, most);
    if (is_rounded) {
      low = Math.floor(low / step + 1e-9) * step;
      high = Math.max(Math.ceil(high / step - 1e-9) * step, low + step);
    }
    return { ticks: multiples(low, high, step), at: (v) => (v - low) / (high - low) };
  }
  function logarithmic(low, high, { ticks, is_rounded = false } = {}) {
    if (is_rounded) {
      low = 10 ** Math.floor(Math.log10(low) + 1e-9);
      high = Math.max(10 ** Math.ceil(Math.log10(high) - 1e-9), 10 * low);
    }
    return { ticks: ticks || round_powers(low, high), at: (v) => Math.log(v / low) / Math.log(high / low) };
  }

  // Draws into `svg`, in place of what is there:
  //   width, height; left, right, top, bottom: the margins around the frame of the data
  //   title, description: for those who do not see it
  //   x, y: axes; x_label below the frame; y_label above it; words: how a value is written
  //   lines: { name, points: [[x, y], …], colour, is_dashed, mark: the radius of all points, end: that of the last one,
  //            end_class }; a y that the axis has no place for is a gap
  // Gives back { px, py }, from values to the drawing.
  function draw(svg, { width, height, left, right, top, bottom, title, description, x, y, x_label, y_label, words, lines }) {
    const px = (v) => left + (width - left - right) * x.at(v), py = (v) => height - bottom - (height - top - bottom) * y.at(v);
    const clip = `chart-frame-${clips++}`;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("role", "img");
    add(svg, "title", {}, title);
    add(svg, "desc", {}, description);
    add(add(add(svg, "defs"), "clipPath", { id: clip }), "rect",
      { x: left - 3, y: top - 3, width: width - left - right + 6, height: height - top - bottom + 6 });
    if (y_label) add(svg, "text", { x: 0, y: 14 }, y_label);
    for (const v of y.ticks) {
      add(svg, "line", { x1: left, x2: width - right, y1: py(v), y2: py(v), stroke: "var(--grid)" });
      add(svg, "text", { x: left - 7, y: py(v) + 4, "text-anchor": "end" }, words(v));
    }
    for (const v of x.ticks) {
      const reach = String(v).length * 4;  // half a label's width: those at the ends stay inside
      add(svg, "text", { x: Math.min(px(v), width - reach), y: height - bottom + 17, "text-anchor": "middle" }, String(v));
    }
    add(svg, "text", { x: (left + width - right) / 2, y: height - 7, "text-anchor": "middle" }, x_label);
    for (const { name, points, colour, is_dashed, mark, end, end_class } of lines) {
      const inside = add(svg, "g", { "clip-path": `url(#${clip})` });
      const seen = points.map(([at, v]) => v !== null ? Number.isFinite(x.at(at) + y.at(v)) : false);
      const d = points.map(([at, v], i) => seen[i] ? `${seen[i - 1] ? "L" : "M"}${px(at).toFixed(1)} ${py(v).toFixed(1)}` : "").join("");
      add(inside, "path", { class: "line", d: d || "M0 0", fill: "none", stroke: colour, "stroke-width": is_dashed ? 1.4 : 1.8,
        "stroke-linejoin": "round", "stroke-dasharray": is_dashed ? "5 4" : "none" });
      points.forEach(([at, v], i) => {
        if (!mark || !seen[i]) return;
        const dot = add(inside, "circle", { class: "mark", cx: px(at), cy: py(v), r: mark, fill: colour });
        add(dot, "title", {}, `${name}, ${at}: ${words(v)}`);
      });
      const last = points[seen.lastIndexOf(true)];
      if (end) if (last) add(svg, "circle", { class: end_class, cx: px(last[0]), cy: py(last[1]), r: end, fill: colour });
    }
    return { px, py };
  }

  return { add, linear, logarithmic, draw };
})();
