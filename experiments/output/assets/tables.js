document.querySelectorAll("table.sort").forEach(function (table) {
  var body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);
  function key(row, column) {
    var cell = row.cells[column], text = cell.dataset.v || cell.textContent, number = parseFloat(text);
    return { text: text, number: number, missing: isNaN(number) };
  }
  if (table.classList.contains("blocks")) {
    Array.from(body.rows).forEach(function (row) {
      Array.from(row.cells).forEach(function (cell, column) { cell.dataset.head = heads[column].textContent; });
    });
    table.classList.add("named");
  }
  heads.forEach(function (head, column) {
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", function () {
      var up = head.getAttribute("aria-sort") !== "ascending", sign = up ? 1 : -1;
      heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      var rows = Array.from(body.rows);
      rows.sort(function (a, b) {
        var x = key(a, column), y = key(b, column);
        if (x.missing !== y.missing) return x.missing ? 1 : -1;
        return sign * (x.missing ? x.text.localeCompare(y.text) : x.number - y.number);
      });
      rows.forEach(function (row) { body.appendChild(row); });
    });
  });
});
