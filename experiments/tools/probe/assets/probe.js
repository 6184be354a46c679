(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("probe-data").textContent), width = data.heads_per_layer;
  var grid = document.getElementById("heat"), cells = Array.from(grid.querySelectorAll("button"));
  var select = document.getElementById("measure"), readout = document.getElementById("readout");
  var panel = document.getElementById("head"), measure = data.heat[0], chosen = 0, clips = 0;

  function add(parent, name, attributes, text) {
    var svg = parent.namespaceURI === "http://www.w3.org/2000/svg" || name === "svg";
    var node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    Object.keys(attributes || {}).forEach(function (key) { node.setAttribute(key, attributes[key]); });
    if (text !== undefined) node.textContent = text;
    return parent.appendChild(node);
  }
  function shown(v) {
    if (v === null || v === undefined) return "—";
    if (v === 0) return "0";
    var size = Math.abs(v);
    return size >= 1e4 || 1e-3 > size ? Number(v.toPrecision(2)).toExponential() : String(Number(v.toPrecision(3)));
  }
  function head_name(i) { return "layer " + Math.floor(i / width) + ", head " + i % width; }
  function median_of(column) {
    var by = data.heads.map(column);
    return by[0].map(function (first, i) {
      var sorted = by.map(function (own) { return own[i]; }).sort(function (a, b) { return a - b; });
      return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.floor(sorted.length / 2)]) / 2;
    });
  }

  // From data to [0, 1], and where the ticks are.
  function linear_axis(low, high) {
    var raw = (high - low || 1) / 4, unit = Math.pow(10, Math.floor(Math.log10(raw))), ticks = [];
    var step = [1, 2, 5, 10].map(function (n) { return n * unit; }).find(function (s) { return s >= raw; });
    high = low + Math.ceil((high - low) / step - 1e-9) * step || low + step;
    for (var n = 0; high + step / 2 > low + n * step; n++) ticks.push(low + n * step);
    return { ticks: ticks, at: function (v) { return (v - low) / (high - low); } };
  }
  function log_axis(low, high, ticks) {
    if (!ticks) {
      low = Math.pow(10, Math.floor(Math.log10(low) + 1e-9));
      high = Math.pow(10, Math.ceil(Math.log10(high) - 1e-9));
      if (low === high) high = 10 * low;
      var decades = Math.round(Math.log10(high / low)), every = Math.ceil(decades / 5);
      ticks = [];
      for (var d = 0; decades >= d; d += every) ticks.push(low * Math.pow(10, d));
    }
    return { ticks: ticks, at: function (v) { return Math.log(v / low) / Math.log(high / low); } };
  }
  function lengths_axis(values) {
    var every = values.length > 6 ? 2 : 1, last = values.length - 1;
    var ticks = values.filter(function (v, i) { return (last - i) % every === 0; });
    return values.length > 1 ? log_axis(values[0], values[last], ticks) : log_axis(values[0] / 2, values[0] * 2, ticks);
  }
  // Of what is drawn, but for lines that only compare.
  function fitted(lines, is_log) {
    var all = [];
    lines.forEach(function (line) {
      if (!line.reference) line.y.forEach(function (v) { if (v > 0 || !is_log) all.push(v); });
    });
    if (!all.length) all = [1];
    var low = Math.min.apply(null, all), high = Math.max.apply(null, all);
    return is_log ? log_axis(Math.max(low, high * 1e-6), high) : linear_axis(Math.min(0, low), high);
  }

  function chart(parent, spec) {
    var figure = add(parent, "figure"), caption = add(figure, "figcaption");
    add(caption, "b", {}, spec.title);
    var x = spec.x, y = spec.y || fitted(spec.lines, spec.log), left = 48, top = 10, w = 292, h = 160;
    var svg = add(figure, "svg", { viewBox: "0 0 360 212", role: "img" });
    add(svg, "title", {}, head_name(chosen) + ": " + spec.title);
    add(svg, "desc", {}, spec.lines.map(function (line) {
      return line.name + " from " + shown(line.y[0]) + " to " + shown(line.y[line.y.length - 1]);
    }).join("; "));
    var clip = "clip-" + clips++;
    add(add(add(svg, "defs"), "clipPath", { id: clip }), "rect", { x: left - 3, y: top - 3, width: w + 6, height: h + 6 });
    function px(v) { return left + w * x.at(v); }
    function py(v) { return top + h * (1 - y.at(v)); }
    y.ticks.forEach(function (v) {
      add(svg, "line", { x1: left, x2: left + w, y1: py(v), y2: py(v), stroke: "var(--grid)" });
      add(svg, "text", { x: left - 6, y: py(v) + 4, "text-anchor": "end" }, shown(v));
    });
    x.ticks.forEach(function (v) {
      add(svg, "text", { x: px(v), y: top + h + 16, "text-anchor": "middle" }, String(v));
    });
    add(svg, "text", { x: left + w / 2, y: top + h + 34, "text-anchor": "middle" }, spec.x_label);
    // Names of uprights stand above one another, each beside the one farthest to the right.
    var uprights = spec.uprights || [], last = Math.max.apply(null, uprights.map(function (u) { return u.x; }).concat(0));
    uprights.forEach(function (upright) {
      add(svg, "line", { x1: px(upright.x), x2: px(upright.x), y1: top, y2: top + h, stroke: "var(--muted)",
                         "stroke-dasharray": "2 3" });
    });
    uprights.forEach(function (upright) {
      var beside = x.at(last) > 0.8 ? Math.min.apply(null, uprights.map(function (u) { return u.x; })) : last;
      add(svg, "text", { "class": "halo", x: px(beside) + (beside === last ? 4 : -4), y: top + h - 6 - upright.row * 14,
                         "text-anchor": beside === last ? "start" : "end" }, upright.name);
    });
    var inside = add(svg, "g", { "clip-path": "url(#" + clip + ")" });
    spec.lines.forEach(function (line) {
      var path = "", pen = "M";
      line.y.forEach(function (v, i) {
        if (v === null || (spec.log ? !(v > 0) : false)) { pen = "M"; return; }
        path += pen + px(line.x[i]).toFixed(1) + " " + py(v).toFixed(1);
        pen = "L";
      });
      add(inside, "path", { d: path || "M0 0", fill: "none", stroke: line.colour, "stroke-width": line.dashed ? 1.4 : 1.8,
                            "stroke-dasharray": line.dashed ? "5 4" : "none" });
      if (line.points) line.y.forEach(function (v, i) {
        if (v === null || (spec.log ? !(v > 0) : false)) return;
        var mark = add(inside, "circle", { "class": "mark", cx: px(line.x[i]), cy: py(v), r: line.points, fill: line.colour });
        add(mark, "title", {}, line.name + ", " + line.x[i] + ": " + shown(v));
      });
      var entry = add(caption, "span");
      add(entry, "i", { "class": line.dashed ? "dashed" : "", style: "border-color:" + line.colour });
      entry.append(line.name);
    });
  }
  function line(name, colour, x, y) { return { name: name, colour: colour, x: x, y: y, points: 2.6 }; }
  function dashed(name, colour, x, y, reference) {
    return { name: name, colour: colour, x: x, y: y, dashed: true, reference: reference };
  }
  function falling(x, first) { return x.map(function (v) { return first * x[0] / v; }); }

  function norm_chart(parent, title, x, own, median, label) {
    chart(parent, { title: title, x: lengths_axis(x), x_label: label, log: true, lines: [
      dashed("median of all heads", "var(--muted)", x, median), dashed("slope -1", "var(--theory)", x, falling(x, own[0]), true),
      line("this head", "var(--c0)", x, own)] });
  }
  var medians = {
    length: median_of(function (head) { return head.by_length.norm; }),
    position: median_of(function (head) { return head.by_position.norm; })
  };
  function values_chart(parent, values) {
    var kinds = [["W_Q", "query", "var(--c2)"], ["W_K", "key", "var(--c3)"], ["W_QᵀW_K", "product", "var(--c1)"],
                 ["scores", "scores", "var(--c0)"]];
    var lines = kinds.map(function (kind) {
      var own = values[kind[1]], drawn = line(kind[0], kind[2], own.map(function (v, i) { return i + 1; }),
                                              own.map(function (v) { return own[0] > 0 ? v / own[0] : null; }));
      drawn.points = 1.5;
      return drawn;
    });
    var count = values.query.length, axis = linear_axis(0, count), squares = values.scores.map(function (v) { return v * v; });
    var total = squares.reduce(function (a, b) { return a + b; }, 0);
    axis.ticks = axis.ticks.filter(function (v) { return count >= v; });
    var axis_end = axis.at(count), at = axis.at;
    axis.at = function (v) { return at(v) / axis_end; };
    chart(parent, { title: "Singular values over the largest", x: axis, x_label: "number of the singular value", log: true,
      lines: lines, uprights: total > 0 ? data.energies.map(function (energy, row) {
        var sum = 0, rank = squares.findIndex(function (v) { sum += v; return sum >= energy * total * (1 - 1e-6); });
        return { x: rank + 1, row: row, name: shown(100 * energy) + " %: " + (rank + 1) };
      }) : [] });
  }
  function numbers(parent, name, rows, columns) {
    add(parent, "h3", {}, name);
    var scroll = add(parent, "div", { "class": "scroll", tabindex: "0", role: "region", "aria-label": name });
    var table = add(scroll, "table"), top = add(add(table, "thead"), "tr"), body = add(table, "tbody");
    columns.forEach(function (column) { add(top, "th", { scope: "col" }, column[0]); });
    rows.forEach(function (row, i) {
      var tr = add(body, "tr");
      columns.forEach(function (column, j) {
        add(tr, j ? "td" : "th", j ? {} : { scope: "row" }, j ? shown(column[1][i]) : String(row));
      });
    });
  }

  function draw() {
    var head = data.heads[chosen], of = head.by_length, at = head.by_position, L = data.lengths, l = data.positions;
    var longest = L[L.length - 1], group = "", words;
    panel.replaceChildren();
    add(panel, "h3", {}, "Layer " + head.layer + ", head " + head.head);
    data.heat.forEach(function (each) {
      if (each.group !== group) {
        words = add(panel, "p", { "class": "muted" });
        add(words, "b", {}, each.group);
      }
      words.append(each.group === group ? " · " : " ", each.label.replace("rank of ", "") + " ");
      add(words, "span", { "class": "value" }, each.texts[chosen]);
      group = each.group;
    });
    var curves = add(panel, "div", { "class": "curves" });
    norm_chart(curves, "Norm of softmax's Jacobian, last query", L, of.norm, medians.length, "length L");
    norm_chart(curves, "The same by position, L = " + longest, l, at.norm, medians.position, "position of the query");
    values_chart(curves, head.singular_values);
    chart(curves, { title: "Norm of the logits over √L, query L/2", x: lengths_axis(L), x_label: "length L", lines: [
      line("all keys", "var(--c1)", L, of.logits_all), line("causal", "var(--c2)", L, of.logits_causal),
      line("centred", "var(--c0)", L, of.logits_centred)] });
    chart(curves, { title: "Entropy by position, nats", x: lengths_axis(l), x_label: "position of the query", lines: [
      dashed("the most there can be", "var(--muted)", l, l.map(Math.log)), line("this head", "var(--c0)", l, at.entropy)] });
    chart(curves, { title: "Weights by position", x: lengths_axis(l), x_label: "position of the query", y: linear_axis(0, 1),
      lines: [line("largest", "var(--c1)", l, at.largest), line("first token", "var(--c0)", l, at.sink_mass)] });
    var more = add(panel, "details");
    add(more, "summary", {}, "The curves in numbers");
    numbers(more, "By length", L, [["L", L], ["norm", of.norm], ["± SE", of.norm_stderr], ["logits/√L, all", of.logits_all],
      ["causal", of.logits_causal], ["centred", of.logits_centred], ["entropy", of.entropy], ["first token", of.sink_mass]]);
    numbers(more, "By position", l, [["position", l], ["norm", at.norm],
      ["l·norm", at.norm.map(function (v, i) { return v * l[i]; })], ["entropy", at.entropy], ["first token", at.sink_mass],
      ["largest", at.largest], ["largest logit", at.largest_logit]]);
  }

  function say(i) { readout.textContent = head_name(i) + ": " + measure.texts[i]; }
  function choose(i) {
    cells[chosen].setAttribute("aria-pressed", "false");
    cells[chosen].tabIndex = -1;
    chosen = i;
    cells[i].setAttribute("aria-pressed", "true");
    cells[i].tabIndex = 0;
    say(i);
    draw();
  }
  function show() {
    measure = data.heat[select.selectedIndex];
    document.getElementById("meaning").textContent = measure.meaning;
    document.getElementById("measure-name").textContent = measure.group + ", " + measure.label;
    document.getElementById("low").textContent = measure.low;
    document.getElementById("high").textContent = measure.high;
    document.getElementById("bar").classList.toggle("signed", measure.signed);
    cells.forEach(function (cell, i) {
      var shade = measure.shades[i];
      cell.style.setProperty("--v", Math.abs(shade) + "%");
      cell.style.setProperty("--hue", measure.signed ? (shade > 0 ? "var(--c1)" : "var(--c0)") : "var(--c0)");
      cell.classList.toggle("none", shade === 0);
      cell.title = head_name(i) + ": " + measure.texts[i];
    });
    say(chosen);
  }
  function moved(key) {
    var wide = getComputedStyle(grid).gridAutoFlow.startsWith("column");
    var layers = { ArrowLeft: wide ? -1 : 0, ArrowRight: wide ? 1 : 0, ArrowUp: wide ? 0 : -1, ArrowDown: wide ? 0 : 1 };
    var heads = { ArrowLeft: wide ? 0 : -1, ArrowRight: wide ? 0 : 1, ArrowUp: wide ? -1 : 0, ArrowDown: wide ? 1 : 0 };
    if (!(key in layers)) return -1;
    var layer = Math.floor(chosen / width) + layers[key], head = chosen % width + heads[key];
    var inside = [layer >= 0, data.layers > layer, head >= 0, width > head].every(Boolean);
    return inside ? layer * width + head : chosen;
  }
  select.hidden = false;
  document.getElementById("measure-name").hidden = true;
  select.addEventListener("change", show);
  cells.forEach(function (cell, i) {
    cell.addEventListener("click", function () { choose(i); });
    cell.addEventListener("mouseenter", function () { say(i); });
  });
  grid.addEventListener("mouseleave", function () { say(chosen); });
  grid.addEventListener("keydown", function (event) {
    var to = moved(event.key);
    if (to >= 0) {
      event.preventDefault();
      choose(to);
      cells[to].focus();
    }
  });
  choose(0);
}());
