// A click on a column's head sorts its table.
for (const table of document.querySelectorAll("table.sort")) {
  const body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);
  function key(row, column) {
    const cell = row.cells[column], text = cell.dataset.v || cell.textContent, number = parseFloat(text);
    return { text, number, is_missing: isNaN(number) };
  }
  if (table.classList.contains("blocks")) {
    for (const row of body.rows) Array.from(row.cells).forEach((cell, column) => { cell.dataset.head = heads[column].textContent; });
    table.classList.add("named");
  }
  heads.forEach((head, column) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: head.textContent });
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const is_up = head.getAttribute("aria-sort") !== "ascending", sign = is_up ? 1 : -1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", is_up ? "ascending" : "descending");
      const rows = Array.from(body.rows).sort((a, b) => {
        const x = key(a, column), y = key(b, column);
        if (x.is_missing !== y.is_missing) return x.is_missing ? 1 : -1;
        return sign * (x.is_missing ? x.text.localeCompare(y.text) : x.number - y.number);
      });
      for (const row of rows) body.append(row);
    });
  });
}
