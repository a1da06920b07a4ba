// The summary: engines in order, with how many times the best they take.

/** More engines than that are behind a button. */
const MOST_ENGINES = 40;

/** The mark of an engine, as in every chart. */
function swatchOf(engine) {
  const look = svg("svg", { class: "swatch", viewBox: "-6 -6 12 12", "aria-hidden": "true" });
  look.append(markOf(engine, 0, 0, 4.5));
  return look;
}
const swatch = (place) => swatchOf(DATA.engines[place]);

/** What an engine is, with its marks in a word or two. */
function badges(column) {
  const measured = column.lines.filter(hasFigures);
  const lines = measured.length ? measured : column.lines;
  const kinds = distinct(lines.map((line) => line.keys)).join(", ");
  return [el("span", { class: "kind" }, kinds), ...marksOfLines(lines).flatMap(badge)];
}

function badge(mark) {
  const words = `${mark.sign} ${mark.short}`;
  const titled = { class: `mark ${mark.id}`, title: mark.text };
  if (mark.id !== "refuted") return [" · ", el("span", titled, name(words, { title: mark.text }))];
  const go = () => reveal("trust");
  return [" · ", el("button", { type: "button", ...titled, onclick: go }, words)];
}

/** How far crash tests speak for the levels of engines that they did not refute: said once. */
function held({ columns }) {
  const measured = columns.ranked.map(({ engine, lines }) => ({
    engine,
    lines: lines.filter((line) => hasFigures(line) && line.level !== "none"),
  }));
  const isRefuted = (line) => (line.marks ?? []).map(markFrom).some(({ id }) => id === "refuted");
  const isTested = ({ held }) => held && isFigure(held[1]);
  const most = bounds(
    measured.flatMap(({ lines }) => lines.filter(isTested).map((line) => line.held[1])),
  )[1];
  const isSeen = (line) => isTested(line) || isRefuted(line);
  const unseen = measured.filter(({ lines }) => lines.length && !lines.some(isSeen));
  const names = unseen.slice(0, MOST_CHIPS).flatMap(({ engine }) => [", ", engineName(engine)]);
  const rest = names.length ? [" No crash test has seen ", ...names.slice(1), "."] : [];
  if (!isFigure(most)) return rest.length ? el("p", { class: "note held" }, ...rest) : "";
  const percent = (100 * most).toFixed(most < 0.0995 ? 1 : 0);
  return el(
    "p",
    { class: "note held" },
    "Crash tests, killed processes and power cuts, broke no promise of the engines without †. By " +
      `their number at most ${percent} % of crashes can, with a confidence of 95 %.`,
    ...rest,
  );
}

function drawRanking(shownView) {
  const { columns, rows } = shownView;
  const { ranked } = columns;
  const section = byId("ranking");
  if (!ranked.length) {
    section.replaceChildren();
    return;
  }
  const all = state.open.includes("ranking");
  const some = all ? ranked : ranked.slice(0, MOST_ENGINES);
  const most = Math.max(bounds(ranked.map((column) => column.score))[1], 2);
  const ticks = [1, 2, 5, 10, 30, 100, 300, 1000, 1e4, 1e5, 1e6].filter(
    (tick) => tick <= most * 1.001,
  );
  const width = (score) => (100 * Math.log(Math.max(score, 1))) / Math.log(most);
  const items = some.map((column) => {
    const { name: title } = DATA.engines[column.engine];
    const isPart = column.cells < column.of;
    const figure = times(column.score);
    const counted = isPart ? `${column.cells} of ${column.of} cells` : plural(column.cells, "cell");
    const bar = el("span", { class: "bar", style: `width:${width(column.score).toFixed(2)}%` });
    return el(
      "li",
      { class: isPart ? "part" : undefined },
      swatch(column.engine),
      el("span", { class: "named" }, name(title, { class: "engine" }), signsOf(signed(column))),
      el("span", { class: "badges" }, ...badges(column)),
      el("span", { class: "track", "aria-hidden": "true" }, ...gridlines(ticks, width), bar),
      el("span", { class: "figure" }, figure),
      el("span", { class: "count" }, counted),
    );
  });
  // One line or several of the same length: 20 engines are more than a screen.
  const axis = el(
    "li",
    { class: "axis", "aria-hidden": "true" },
    el("span", { class: "track" }, ...thinned(ticks, width)),
  );
  const isShort = ranked.some((column) => column.cells < column.of);
  section.replaceChildren(
    el("h2", { id: "ranking-title" }, "Ranking"),
    el(
      "p",
      { class: "note" },
      "Geometric mean of (10 ns + time) ÷ (10 ns + best time) over " +
        `${plural(rows.length, "cell")}. ` +
        "1× is the fastest everywhere; shorter is faster, on a scale of factors.",
      isShort &&
        " Striped: ranked over the cells that it has, below each engine that is faster over those.",
    ),
    el("ol", { class: "ranks" }, ...items, axis),
  );
  if (some.length < ranked.length) section.append(showAll("ranking", ranked.length, "engine"));
  section.append(legendOfEngines(shownView), held(shownView));
}

/** The marks of an engine's figures: what stands behind its name. */
const signed = ({ lines }) => marksOfLines(lines.filter(hasFigures));

const gridlines = (ticks, width) =>
  ticks.map((tick) => el("span", { class: "tick", style: `left:${width(tick).toFixed(2)}%` }));

function thinned(ticks, width) {
  let last = -Infinity;
  const apart = innerWidth < 720 ? 19 : 9;
  const label = (tick) => {
    if (width(tick) - last < apart) return null;
    last = width(tick);
    return el(
      "span",
      { class: "tick", style: `left:${last.toFixed(2)}%` },
      times(tick).replace(".0", ""),
    );
  };
  return ticks.map(label).filter(Boolean);
}

function showAll(id, count, what) {
  const open = () => {
    state.open.push(id);
    update();
  };
  return el(
    "button",
    { type: "button", class: "rest", onclick: open },
    `Show all ${plural(count, what)}`,
  );
}
