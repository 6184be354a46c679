// Chooses a measure and a head, by mouse and keyboard, and shows what the page holds of that head.
(() => {
  "use strict";
  const by_id = (id) => document.getElementById(id);
  const data = JSON.parse(by_id("probe-data").textContent), width = data.heads_per_layer;
  const grid = by_id("heat"), cells = Array.from(grid.querySelectorAll("button")), select = by_id("measure");
  let measure = data.heat[0], chosen = 0;

  const head_name = (i) => `layer ${Math.floor(i / width)}, head ${i % width}`;
  const say = (i) => { by_id("readout").textContent = `${head_name(i)}: ${measure.texts[i]}`; };
  function choose(i) {
    for (const [cell, is_it] of [[cells[chosen], false], [cells[i], true]]) {
      cell.setAttribute("aria-pressed", String(is_it));
      cell.tabIndex = is_it ? 0 : -1;
    }
    chosen = i;
    say(i);
    by_id("head").replaceChildren(by_id(`cell-${i}`).content.cloneNode(true));
    for (const table of by_id("head").querySelectorAll(".sort")) table.classList.remove("sort");  // in their order
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
