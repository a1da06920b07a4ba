"use strict";
(function () {
  const table = document.getElementById("results");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const selects = Array.from(document.querySelectorAll("[data-column]"));
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits =
        words.every((word) => text.includes(word)) &&
        selects.every((select) => {
          const cell = row.cells[Number(select.dataset.column)];
          return select.value === "" || cell.dataset.value === select.value;
        });
      row.hidden = !fits;
      count += fits ? 1 : 0;
    }
    shown.textContent = count + " of " + rows.length + " shown";
  }

  function sort(head, column) {
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) {
      other.removeAttribute("aria-sort");
    }
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = (row) => row.cells[column].dataset.value;
    const numbers = head.dataset.kind === "number";
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      // What was not measured is last, whichever way.
      if (x === "" || y === "") {
        return (x === "" ? 1 : 0) - (y === "" ? 1 : 0);
      }
      const order = numbers ? Number(x) - Number(y) : x.localeCompare(y);
      return descending ? -order : order;
    };
    rows.sort(compare);
    body.append(...rows);
  }

  selects.forEach((select) => select.addEventListener("change", filter));
  search.addEventListener("input", filter);
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => sort(head, column));
  });
  filter();
})();
