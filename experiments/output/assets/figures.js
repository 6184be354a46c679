// Figures answer a pointer, a finger and the arrow keys; their lines, intervals, seeds and scales go on and off; they can
// be saved. A page is XML, too: this file has neither of the characters that XML escapes.
for (const figure of document.querySelectorAll("figure.plot")) {
  const seen = (element) => element.getClientRects().length > 0;
  const make = (parent, name, properties) => parent.appendChild(Object.assign(document.createElement(name), properties));
  const tip = make(figure, "div", { className: "tip", hidden: true });
  let at = null;
  tip.setAttribute("role", "status");
  for (const mark of figure.querySelectorAll(".mark")) {
    const title = mark.querySelector("title");
    mark.dataset.says = title.textContent;
    title.remove();
  }
  const marks = () => Array.from(figure.querySelectorAll(".mark")).filter(seen);
  function middle(mark) {
    const box = mark.getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  }
  function tell(mark) {
    if (at) at.classList.remove("told");
    at = mark;
    tip.hidden = !mark;
    if (!mark) return;
    mark.classList.add("told");
    tip.textContent = mark.dataset.says;
    const frame = figure.getBoundingClientRect(), spot = middle(mark), half = tip.offsetWidth / 2;
    const x = Math.max(half, Math.min(frame.width - half, spot.x - frame.left));
    const above = spot.y - frame.top - tip.offsetHeight - 12;
    tip.style.left = `${x - half}px`;
    tip.style.top = `${above > 0 ? above : spot.y - frame.top + 14}px`;
  }
  function nearest(event) {
    let best = null, least = 28;
    for (const mark of marks()) {
      const spot = middle(mark), far = Math.hypot(spot.x - event.clientX, spot.y - event.clientY);
      if (least > far) [least, best] = [far, mark];
    }
    return best;
  }
  for (const svg of figure.querySelectorAll("svg[role=img]")) {
    svg.setAttribute("tabindex", "0");
    for (const name of ["pointermove", "pointerdown"]) svg.addEventListener(name, (event) => tell(nearest(event)));
    svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") tell(null); });
    svg.addEventListener("blur", () => tell(null));
    svg.addEventListener("keydown", (event) => {
      const all = marks(), step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") tell(null);
      if (!step) return;
      event.preventDefault();
      const next = at ? all.indexOf(at) + step : step > 0 ? 0 : all.length - 1;
      tell(all[(next + all.length) % all.length]);
    });
  }

  function button(parent, text, act) {
    return make(parent, "button", { type: "button", textContent: text, onclick: () => { tell(null); act(); } });
  }
  // A button that stays pressed; `act` gets its new state.
  function toggle(parent, text, is_on, act) {
    const made = button(parent, text, () => {
      is_on = !is_on;
      made.setAttribute("aria-pressed", is_on);
      act(is_on);
    });
    made.setAttribute("aria-pressed", is_on);
    return made;
  }
  for (const item of figure.querySelectorAll(".legend li")) {
    const label = Array.from(item.childNodes);
    toggle(item, "", true, (is_on) => {
      for (const part of figure.querySelectorAll(`.layer-${item.dataset.layer}`))
        if (!part.closest(".panel")) part.classList.toggle("off", !is_on);
    }).append(...label);
  }

  // The figure as shown, without hidden parts.
  function picture() {
    const svg = Array.from(figure.querySelectorAll("svg[role=img]")).find(seen), { width, height } = svg.viewBox.baseVal;
    const copy = svg.cloneNode(true), style = getComputedStyle(document.documentElement);
    const hidden = ["seeds", "interval"].filter((part) => figure.classList.contains(`no-${part}`)).map((part) => `.${part}`);
    for (const part of copy.querySelectorAll([".off", ".mark", ...hidden].join())) part.remove();
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ width, height, fill: "var(--paper)" })) paper.setAttribute(name, value);
    copy.prepend(paper);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    const text = new XMLSerializer().serializeToString(copy)
      .replace(/var\((--\w+)\)/g, (all, name) => style.getPropertyValue(name).trim());
    return { url: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`, width, height };
  }
  function save(url, ending) {
    Object.assign(document.createElement("a"), { href: url, download: figure.dataset.name + ending }).click();
  }
  function save_png() {
    const { url, width, height } = picture(), image = new Image();
    image.addEventListener("load", () => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      save(canvas.toDataURL("image/png"), ".png");
    });
    image.src = url;
  }
  const tools = make(figure, "div", { className: "tools" }), names = { interval: "95 % intervals", seeds: "single seeds" };
  for (const part of figure.dataset.parts.split(" ").filter(Boolean)) {
    if (names[part])
      toggle(tools, names[part], !figure.classList.contains(`no-${part}`),
        (is_on) => figure.classList.toggle(`no-${part}`, !is_on));
    else toggle(tools, `${part.split("-")[1]} axis`, false, (is_on) => figure.classList.toggle("on-other", is_on));
  }
  const downloads = make(tools, "span", { className: "downloads" });
  button(downloads, "SVG", () => save(picture().url, ".svg"));
  button(downloads, "PNG", save_png);
  figure.insertBefore(tools, figure.querySelector("figcaption"));
}

(() => {
  // The target of the address may be folded away.
  function open_target() {
    const target = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    if (target) target.scrollIntoView();
  }
  window.addEventListener("hashchange", open_target);
  open_target();
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll(".series, .verdicts details")).filter((e) => !e.open);
    for (const e of closed) e.open = true;
  });
  window.addEventListener("afterprint", () => { for (const e of closed) e.open = false; });
})();
