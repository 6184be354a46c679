document.querySelectorAll("figure.plot").forEach(function (figure) {
  var tip = document.createElement("div"), at = null, parts = figure.dataset.parts.split(" ");
  tip.className = "tip"; tip.hidden = true; tip.setAttribute("role", "status");
  figure.appendChild(tip);
  figure.querySelectorAll(".mark").forEach(function (mark) {
    var title = mark.querySelector("title");
    mark.dataset.says = title.textContent;
    title.remove();
  });
  function seen(element) { return element.getClientRects().length > 0; }
  function middle(mark) {
    var box = mark.getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  }
  function marks() { return Array.from(figure.querySelectorAll(".mark")).filter(seen); }
  function tell(mark) {
    if (at) at.classList.remove("told");
    at = mark;
    tip.hidden = !mark;
    if (!mark) return;
    mark.classList.add("told");
    tip.textContent = mark.dataset.says;
    var frame = figure.getBoundingClientRect(), spot = middle(mark), half = tip.offsetWidth / 2;
    var x = Math.max(half, Math.min(frame.width - half, spot.x - frame.left));
    var above = spot.y - frame.top - tip.offsetHeight - 12;
    tip.style.left = (x - half) + "px";
    tip.style.top = (above > 0 ? above : spot.y - frame.top + 14) + "px";
  }
  function nearest(event) {
    var best = null, least = 28;
    marks().forEach(function (mark) {
      var spot = middle(mark), far = Math.hypot(spot.x - event.clientX, spot.y - event.clientY);
      if (least > far) { least = far; best = mark; }
    });
    return best;
  }
  figure.querySelectorAll("svg[role=img]").forEach(function (svg) {
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("pointermove", function (event) { tell(nearest(event)); });
    svg.addEventListener("pointerdown", function (event) { tell(nearest(event)); });
    svg.addEventListener("pointerleave", function (event) { if (event.pointerType === "mouse") tell(null); });
    svg.addEventListener("blur", function () { tell(null); });
    svg.addEventListener("keydown", function (event) {
      var all = marks(), step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") tell(null);
      if (!step) return;
      event.preventDefault();
      var next = at ? all.indexOf(at) + step : step > 0 ? 0 : all.length - 1;
      tell(all[(next + all.length) % all.length]);
    });
  });

  function button(text, pressed, act) {
    var made = document.createElement("button");
    made.type = "button";
    made.append(text);
    if (pressed !== null) made.setAttribute("aria-pressed", pressed);
    made.addEventListener("click", function () {
      tell(null);
      if (pressed !== null) { pressed = !pressed; made.setAttribute("aria-pressed", pressed); }
      act(pressed, made);
    });
    return made;
  }
  figure.querySelectorAll(".legend li").forEach(function (item) {
    var toggle = button("", true, function (on) {
      figure.querySelectorAll(".layer-" + item.dataset.layer).forEach(function (part) {
        if (!part.closest(".panel")) part.classList.toggle("off", !on);
      });
    });
    toggle.replaceChildren.apply(toggle, Array.from(item.childNodes));
    item.replaceChildren(toggle);
  });

  function picture() {
    var svg = Array.from(figure.querySelectorAll("svg[role=img]")).find(seen), box = svg.viewBox.baseVal;
    var copy = svg.cloneNode(true), style = getComputedStyle(document.documentElement);
    copy.querySelectorAll(".off, .mark").forEach(function (part) { part.remove(); });
    ["seeds", "interval"].forEach(function (part) {
      if (figure.classList.contains("no-" + part))
        copy.querySelectorAll("." + part).forEach(function (group) { group.remove(); });
    });
    var paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    [["width", box.width], ["height", box.height], ["fill", "var(--paper)"]].forEach(function (pair) {
      paper.setAttribute(pair[0], pair[1]);
    });
    copy.insertBefore(paper, copy.firstChild);
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    var text = new XMLSerializer().serializeToString(copy).replace(/var\((--\w+)\)/g, function (all, name) {
      return style.getPropertyValue(name).trim();
    });
    return { text: text, width: box.width, height: box.height };
  }
  function save(url, ending) {
    var link = document.createElement("a");
    link.href = url;
    link.download = figure.dataset.name + ending;
    link.click();
  }
  function data(text) { return "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text); }
  function save_png() {
    var made = picture(), image = new Image();
    image.addEventListener("load", function () {
      var canvas = document.createElement("canvas");
      canvas.width = 2 * made.width;
      canvas.height = 2 * made.height;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      save(canvas.toDataURL("image/png"), ".png");
    });
    image.src = data(made.text);
  }
  var tools = document.createElement("div"), names = { interval: "95 % intervals", seeds: "single seeds" };
  tools.className = "tools";
  parts.forEach(function (part) {
    if (names[part]) {
      var on = !figure.classList.contains("no-" + part);
      tools.append(button(names[part], on, function (shown) { figure.classList.toggle("no-" + part, !shown); }));
    } else if (part) {
      var words = part.split("-");
      tools.append(button(words[1] + " axis", false, function (other) { figure.classList.toggle("on-other", other); }));
    }
  });
  var downloads = document.createElement("span");
  downloads.className = "downloads";
  downloads.append(button("SVG", null, function () { save(data(picture().text), ".svg"); }), button("PNG", null, save_png));
  tools.append(downloads);
  figure.insertBefore(tools, figure.querySelector("figcaption"));
});

(function () {
  function open_target() {
    var target = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    for (var e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    if (target) target.scrollIntoView();
  }
  window.addEventListener("hashchange", open_target);
  open_target();
  var closed = [];
  window.addEventListener("beforeprint", function () {
    closed = Array.from(document.querySelectorAll(".series, .verdicts details")).filter(function (e) { return !e.open; });
    closed.forEach(function (e) { e.open = true; });
  });
  window.addEventListener("afterprint", function () { closed.forEach(function (e) { e.open = false; }); });
}());
