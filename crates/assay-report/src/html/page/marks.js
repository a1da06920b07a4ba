// Marks: what a reader has to know of an engine or a figure. The list of them is in the data.

/** What a mark of the data is: its sign, its name, and what it says here. */
const markFrom = ([mark, text, short]) => ({
  ...DATA.marks[mark],
  text: DATA.texts[text],
  short: DATA.texts[short],
  key: `${mark}:${text}`,
});

/** What a reader of a cell has to know: the marks of its engine at its level and of its figure. */
function marksOf({ line, phase }) {
  return [...(line.marks ?? []), ...(phase?.marks ?? [])].map(markFrom);
}

/** The marks of the lines of an engine, each once. */
function marksOfLines(lines) {
  const found = new Map();
  for (const mark of lines.flatMap((line) => (line.marks ?? []).map(markFrom))) {
    if (!found.has(mark.key)) found.set(mark.key, mark);
  }
  return [...found.values()];
}

/** With fewer marked figures in a row, each has its own sign. */
const LEAST_IN_COMMON = 3;

/** The marks that more than half of some figures have, by key. */
function inMost(figures) {
  const counts = new Map();
  for (const mark of figures.flat()) {
    const found = counts.get(mark.key) ?? { mark, count: 0 };
    found.count += 1;
    counts.set(mark.key, found);
  }
  return [...counts.values()].filter(({ count }) => 2 * count > figures.length);
}

/**
 * Finds what most figures of a column or a row have in common. It stands once, at the head, so that
 * signs in cells are exceptions.
 */
function findCommon({ rows, columns }) {
  const figuresOf = (cells) => cells.filter((cell) => isFigure(cell?.ns)).map(marksOf);
  for (const column of columns.ranked) {
    const own = figuresOf(rows.map((row) => row.cells.get(column.engine)));
    const marks = own.map((all) => all.filter((mark) => !mark.is_of_figures));
    column.common = new Map(inMost(marks).map(({ mark }) => [mark.key, mark]));
  }
  for (const row of rows) {
    const all = figuresOf(columns.ranked.map(({ engine }) => row.cells.get(engine)));
    const marks = all.map((own) => own.filter((mark) => mark.is_of_measuring));
    const common = inMost(marks).filter(({ count }) => count >= LEAST_IN_COMMON);
    row.common = new Map(common.map(({ mark }) => [mark.key, mark]));
  }
}

/** The signs of some marks, each once, with what they say as a title. */
function signsOf(marks) {
  const all = [...marks];
  if (!all.length) return "";
  const title = all.map(({ sign, text }) => `${sign} ${text}`).join("\n");
  return el("span", { class: "sign", title }, " ", distinct(all.map(({ sign }) => sign)).join(""));
}

/** What signs mean: `found` are marks with the engines that have them, or none. */
function legendOf(title, found) {
  const meanings = new Map();
  for (const { mark, engine } of found) {
    if (!meanings.has(mark.key)) meanings.set(mark.key, { mark, engines: new Set() });
    if (engine !== undefined) meanings.get(mark.key).engines.add(engine);
  }
  if (!meanings.size) return "";
  const item = ({ mark, engines }) => {
    const names = [...engines].slice(0, MOST_CHIPS).map((one) => name(DATA.engines[one].name));
    const list = names.flatMap((one, at) => (at ? [", ", one] : [one]));
    const more = engines.size > names.length ? ` and ${engines.size - names.length} more` : "";
    // What a crash test found names its engine.
    const isNamed = !list.length || mark.id === "refuted";
    const of = isNamed ? [] : [...list, more, ": "];
    return el("li", {}, `${mark.sign} `, ...of, name(mark.text));
  };
  const order = DATA.marks.map(({ id }) => id);
  const sorted = [...meanings.values()].sort(
    (a, b) => order.indexOf(a.mark.id) - order.indexOf(b.mark.id),
  );
  return el("ul", { class: "signs", "aria-label": title }, ...sorted.map(item));
}

/** The marks of engines in the ranking. */
function legendOfEngines({ columns }) {
  const found = columns.ranked.flatMap((column) =>
    marksOfLines(column.lines.filter(hasFigures)).map((mark) => ({ mark, engine: column.engine })),
  );
  return legendOf("Signs of engines", found);
}

/** The marks of figures in the matrix, and what stands at the heads of rows. */
function legendOfFigures({ rows, columns }) {
  const found = [];
  for (const row of rows) {
    for (const { engine } of columns.ranked) {
      const cell = row.cells.get(engine);
      if (!isFigure(cell?.ns)) continue;
      found.push(...marksOf(cell).filter((mark) => mark.is_of_figures));
    }
  }
  const legend = legendOf(
    "Signs of figures",
    found.map((mark) => ({ mark })),
  );
  const hasHeads = rows.some((row) => row.common.size);
  if (hasHeads) legend.append(el("li", {}, "At the head of a row: so are most of its figures."));
  return legend;
}
