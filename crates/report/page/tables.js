// Tables: those of the text, sorted by a click on a column, and shown as far as a filter lets them.

/** Columns whose texts are long: they wrap. */
const WRAPPED = ["pattern", "why", "at", "most of it in", "what usually mends it"];

/** Makes it seen that a list goes on below, and lets the keyboard scroll it. */
function hintScroll(list, what) {
  const note = element("p", undefined, "note");
  list.after(note);
  const look = () => {
    const hidden = list.scrollHeight - list.clientHeight - list.scrollTop > 4;
    list.classList.toggle("more", hidden);
    const scrolls = list.scrollHeight > list.clientHeight + 4;
    if (scrolls) list.tabIndex = 0;
    note.hidden = !scrolls;
    note.textContent = `${countText(list.children.length)} ${what}; the list scrolls${hidden ? ", there is more below" : ""}.`;
  };
  list.addEventListener("scroll", look);
  window.addEventListener("resize", look);
  look();
}

/** The tables of the page, by the element that holds them. */
const tables = {};

/** Shows a table; `extra` makes one more cell for a row. Rows may be left out by `narrowTable`. */
function showTable(id, { columns, rows, keys }, extra) {
  const numeric = columns.map((_, column) => rows.every((_, row) => keys[row][column] !== null));
  const table = element("table"), head = element("tr"), count = element("p", undefined, "note");
  const shown = { columns, rows, keys, numeric, table, count, order: [...rows.keys()], by: -1, down: false, keep: null };
  count.setAttribute("role", "status");
  for (const [column, name] of columns.entries()) {
    const cell = element("th", undefined, classOf(shown, column)), button = element("button", name, "sort");
    button.type = "button";
    button.title = "Sort by this column";
    button.addEventListener("click", () => sortTable(shown, column));
    cell.append(button);
    head.append(cell);
  }
  if (extra) head.append(element("th"));
  table.append(element("thead"), element("tbody"));
  table.tHead.append(head);
  shown.lines = rows.map((row, index) => {
    const line = element("tr");
    line.append(...row.map((text, column) => element("td", text, classOf(shown, column))));
    if (extra) { const last = element("td"); last.append(extra(index)); line.append(last); }
    return line;
  });
  tables[id] = shown;
  byId(id).replaceChildren(table, count);
  arrangeTable(shown);
}

const classOf = ({ columns, numeric }, column) => numeric[column] ? "number" : WRAPPED.includes(columns[column]) ? "wrap" : "";

/** Sorts by a column: largest numbers and first letters first, and the other way round when asked again. */
function sortTable(shown, column) {
  const { rows, keys, numeric } = shown;
  shown.down = shown.by === column ? !shown.down : numeric[column];
  shown.by = column;
  const sign = shown.down ? -1 : 1;
  const compare = numeric[column] ? (a, b) => keys[a][column] - keys[b][column]
    : (a, b) => rows[a][column].localeCompare(rows[b][column], "en", { numeric: true });
  shown.order = [...rows.keys()].sort((a, b) => sign * compare(a, b) || a - b);
  for (const [index, cell] of [...shown.table.tHead.rows[0].cells].entries()) {
    if (index === column) cell.setAttribute("aria-sort", shown.down ? "descending" : "ascending"); else cell.removeAttribute("aria-sort");
  }
  arrangeTable(shown);
}

/** Leaves out the rows that `keep` refuses; all are shown if it is null. */
function narrowTable(id, keep) {
  const shown = tables[id];
  if (!shown) return;
  shown.keep = keep;
  arrangeTable(shown);
}

function arrangeTable({ rows, table, lines, order, keep, count }) {
  const kept = keep ? order.filter((row) => keep(rows[row])) : order;
  table.tBodies[0].replaceChildren(...kept.map((row) => lines[row]));
  count.textContent = kept.length < rows.length ? `${countText(kept.length)} of ${countText(rows.length)} rows match.` : "";
  count.hidden = kept.length === rows.length;
}
