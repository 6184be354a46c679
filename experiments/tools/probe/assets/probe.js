// Chooses a measure and a head, by mouse and keyboard, and draws the head's curves from the page's JSON.
(() => {
  "use strict";
  const { add, linear, logarithmic, draw } = charts;
  const by_id = (id) => document.getElementById(id);
  const data = JSON.parse(by_id("probe-data").textContent), width = data.heads_per_layer;
  const grid = by_id("heat"), cells = Array.from(grid.querySelectorAll("button")), select = by_id("measure");
  let measure = data.heat[0], chosen = 0;

  function shown(v) {
    if (v === null || v === undefined) return "—";
    if (v === 0) return "0";
    const size = Math.abs(v);
    return size >= 1e4 || 1e-3 > size ? Number(v.toPrecision(2)).toExponential() : String(Number(v.toPrecision(3)));
  }
  const head_name = (i) => `layer ${Math.floor(i / width)}, head ${i % width}`;
  function median_of(column) {
    const by_head = data.heads.map(column);
    return by_head[0].map((first, i) => {
      const sorted = by_head.map((own) => own[i]).sort((a, b) => a - b);
      return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.floor(sorted.length / 2)]) / 2;
    });
  }
  const medians = { length: median_of((head) => head.by_length.norm), position: median_of((head) => head.by_position.norm) };

  // Lengths and positions double; every second one has a name where there are many.
  function doubling_axis(values) {
    const every = values.length > 6 ? 2 : 1, first = values[0], last = values.length - 1;
    const ticks = values.filter((v, i) => (last - i) % every === 0);
    return last > 0 ? logarithmic(first, values[last], { ticks }) : logarithmic(first / 2, first * 2, { ticks });
  }
  // Around what is drawn, without lines that only compare.
  function fitted(lines, is_log) {
    const all = lines.filter((line) => !line.compares).flatMap((line) => line.y).filter((v) => v > 0 || !is_log);
    const low = Math.min(...all), high = Math.max(...all);
    if (!all.length) return linear(0, 1);
    return is_log ? logarithmic(Math.max(low, high * 1e-6), high, { is_rounded: true })
                  : linear(Math.min(0, low), high, { is_rounded: true });
  }

  const line = (name, colour, x, y, mark = 2.6) => ({ name, colour, x, y, mark });
  const dashed = (name, colour, x, y, compares = false) => ({ name, colour, x, y, compares, is_dashed: true });

  // A figure with its name and its lines' above it.
  function chart(parent, title, x_label, lines, { x = doubling_axis(lines[0].x), is_log = false, y = fitted(lines, is_log) } = {}) {
    const figure = add(parent, "figure"), caption = add(figure, "figcaption");
    add(caption, "b", {}, title);
    for (const { name, colour, is_dashed } of lines) {
      const entry = add(caption, "span");
      add(entry, "i", { class: is_dashed ? "dashed" : "", style: `border-color:${colour}` });
      entry.append(name);
    }
    const svg = add(figure, "svg"), frame = { width: 360, height: 212, left: 48, right: 20, top: 10, bottom: 42 };
    const place = draw(svg, {
      ...frame, x, y, x_label, words: shown,
      title: `${head_name(chosen)}: ${title}`,
      description: lines.map((one) => `${one.name} from ${shown(one.y[0])} to ${shown(one.y[one.y.length - 1])}`).join("; "),
      lines: lines.map((one) => ({ ...one, points: one.x.map((at, i) => [at, one.y[i]]) })),
    });
    return { svg, frame, ...place };
  }
  function norm_chart(parent, title, x_label, x, own, median) {
    chart(parent, title, x_label, [dashed("median of all heads", "var(--muted)", x, median),
      dashed("slope -1", "var(--theory)", x, x.map((v) => own[0] * x[0] / v), true), line("this head", "var(--c0)", x, own)], { is_log: true });
  }
  function values_chart(parent, values) {
    const kinds = [["W_Q", "query", "var(--c2)"], ["W_K", "key", "var(--c3)"], ["W_QᵀW_K", "product", "var(--c1)"],
      ["scores", "scores", "var(--c0)"]];
    const lines = kinds.map(([name, key, colour]) => {
      const own = values[key];
      return line(name, colour, own.map((v, i) => i + 1), own.map((v) => own[0] > 0 ? v / own[0] : null), 1.5);
    });
    const { svg, frame, px } = chart(parent, "Singular values over the largest", "number of the singular value", lines,
      { x: linear(0, values.query.length), is_log: true });
    const squares = values.scores.map((v) => v * v), total = squares.reduce((a, b) => a + b, 0);
    if (!(total > 0)) return;
    // How many hold a share of the energy: dashed uprights, their names above one another, next to the outermost one.
    const ranks = data.energies.map((energy) => {
      let sum = 0;
      return squares.findIndex((v) => { sum += v; return sum >= energy * total * (1 - 1e-6); }) + 1;
    });
    const is_left = Math.max(...ranks) > 0.8 * values.query.length;
    const next_to = is_left ? px(Math.min(...ranks)) - 4 : px(Math.max(...ranks)) + 4, bottom = frame.height - frame.bottom;
    ranks.forEach((rank, row) => {
      add(svg, "line", { x1: px(rank), x2: px(rank), y1: frame.top, y2: bottom, stroke: "var(--muted)", "stroke-dasharray": "2 3" });
      add(svg, "text", { class: "halo", x: next_to, y: bottom - 6 - row * 14, "text-anchor": is_left ? "end" : "start" },
        `${shown(100 * data.energies[row])} %: ${rank}`);
    });
  }
  // A table whose first column names the rows.
  function numbers(parent, name, columns) {
    add(parent, "h3", {}, name);
    const scroll = add(parent, "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name });
    const table = add(scroll, "table"), head = add(add(table, "thead"), "tr"), body = add(table, "tbody");
    for (const [label] of columns) add(head, "th", { scope: "col" }, label);
    columns[0][1].forEach((first, i) => {
      const row = add(body, "tr");
      add(row, "th", { scope: "row" }, String(first));
      for (const [, values] of columns.slice(1)) add(row, "td", {}, shown(values[i]));
    });
  }

  function show_head() {
    const panel = by_id("head"), head = data.heads[chosen], { by_length: of, by_position: at } = head;
    const L = data.lengths, l = data.positions, position = "position of the query";
    let group = "", words;
    panel.replaceChildren();
    add(panel, "h3", {}, `Layer ${head.layer}, head ${head.head}`);
    for (const each of data.heat) {
      if (each.group !== group) {
        words = add(panel, "p", { class: "muted" });
        add(words, "b", {}, each.group);
      }
      words.append(each.group === group ? " · " : " ", each.label.replace("rank of ", "") + " ");
      add(words, "span", { class: "value" }, each.texts[chosen]);
      group = each.group;
    }
    const curves = add(panel, "div", { class: "curves" });
    norm_chart(curves, "Norm of softmax's Jacobian, last query", "length L", L, of.norm, medians.length);
    norm_chart(curves, `The same by position, L = ${L[L.length - 1]}`, position, l, at.norm, medians.position);
    values_chart(curves, head.singular_values);
    chart(curves, "Norm of the logits over √L, query L/2", "length L", [line("all keys", "var(--c1)", L, of.logits_all),
      line("causal", "var(--c2)", L, of.logits_causal), line("centred", "var(--c0)", L, of.logits_centred)]);
    chart(curves, "Entropy by position, nats", position, [dashed("the most there can be", "var(--muted)", l, l.map(Math.log)),
      line("this head", "var(--c0)", l, at.entropy)]);
    chart(curves, "Weights by position", position, [line("largest", "var(--c1)", l, at.largest),
      line("first token", "var(--c0)", l, at.sink_mass)], { y: linear(0, 1) });
    const more = add(panel, "details");
    add(more, "summary", {}, "The curves in numbers");
    numbers(more, "By length", [["L", L], ["norm", of.norm], ["± SE", of.norm_stderr], ["logits/√L, all", of.logits_all],
      ["causal", of.logits_causal], ["centred", of.logits_centred], ["entropy", of.entropy], ["first token", of.sink_mass]]);
    numbers(more, "By position", [["position", l], ["norm", at.norm], ["l·norm", at.norm.map((v, i) => v * l[i])],
      ["entropy", at.entropy], ["first token", at.sink_mass], ["largest", at.largest], ["largest logit", at.largest_logit]]);
  }

  const say = (i) => { by_id("readout").textContent = `${head_name(i)}: ${measure.texts[i]}`; };
  function choose(i) {
    for (const [cell, is_it] of [[cells[chosen], false], [cells[i], true]]) {
      cell.setAttribute("aria-pressed", String(is_it));
      cell.tabIndex = is_it ? 0 : -1;
    }
    chosen = i;
    say(i);
    show_head();
  }
  function show_measure() {
    measure = data.heat[select.selectedIndex];
    for (const id of ["meaning", "low", "high"]) by_id(id).textContent = measure[id];
    by_id("measure-name").textContent = `${measure.group}, ${measure.label}`;
    by_id("bar").classList.toggle("signed", measure.signed);
    cells.forEach((cell, i) => {
      const shade = measure.shades[i];
      cell.style.setProperty("--v", `${Math.abs(shade)}%`);
      cell.style.setProperty("--hue", measure.signed ? (shade > 0 ? "var(--c1)" : "var(--c0)") : "var(--c0)");
      cell.classList.toggle("none", shade === 0);
      cell.title = `${head_name(i)}: ${measure.texts[i]}`;
    });
    say(chosen);
  }
  // Where an arrow key leads from the chosen head; on a wide page a column is a layer, on a phone a row is.
  function moved(key) {
    const is_wide = getComputedStyle(grid).gridAutoFlow.startsWith("column");
    const [right, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    const layer = Math.floor(chosen / width) + (is_wide ? right : down), head = chosen % width + (is_wide ? down : right);
    const is_inside = [layer >= 0, data.layers > layer, head >= 0, width > head].every(Boolean);
    return is_inside ? layer * width + head : chosen;
  }
  select.hidden = false;
  by_id("measure-name").hidden = true;
  select.addEventListener("change", show_measure);
  cells.forEach((cell, i) => {
    cell.addEventListener("click", () => choose(i));
    cell.addEventListener("mouseenter", () => say(i));
  });
  grid.addEventListener("mouseleave", () => say(chosen));
  grid.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    choose(moved(event.key));
    cells[chosen].focus();
  });
  choose(0);
})();
