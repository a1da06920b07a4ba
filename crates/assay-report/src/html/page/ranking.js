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

/** What an engine is and at which level it ran, with what speaks against that. */
function badges(column) {
  const measured = column.lines.filter(hasFigures);
  const lines = measured.length ? measured : column.lines;
  const kinds = distinct(lines.map((line) => line.keys)).join(", ");
  const parts = [el("span", { class: "kind" }, kinds)];
  for (const level of distinct(lines.map((line) => line.level))) {
    const wanted = lines.find((line) => line.level === level).wanted;
    const stronger = level !== wanted;
    const title = stronger
      ? `It runs at ${level}: it has no level ${wanted}`
      : `Durability: ${level}`;
    parts.push(" · ", el("span", { class: stronger ? "level stronger" : "level", title }, level));
  }
  const refuted = lines.find((line) => line.refuted !== undefined)?.refuted;
  if (refuted !== undefined) {
    const go = () => reveal("trust");
    const title = DATA.texts[refuted];
    parts.push(
      " ",
      el("button", { type: "button", class: "refuted", title, onclick: go }, "refuted"),
    );
  } else parts.push(...held(lines));
  return parts;
}

/** The weakest of what crash tests say for the levels of an engine that they did not refute. */
function held(lines) {
  const all = lines.map((line) => line.held).filter((one) => one && isFigure(one[1]));
  const weakest = all.sort(([, a], [, b]) => b - a)[0];
  if (!weakest) return [];
  const [words, most] = weakest;
  const percent = (100 * most).toFixed(most < 0.0995 ? 1 : 0);
  const title = DATA.texts[words];
  return [" ", el("span", { class: "held", title }, `crashes ≤ ${percent} %`)];
}

function drawRanking({ columns, rows }) {
  const { ranked } = columns;
  const section = byId("ranking");
  if (!ranked.length) {
    section.replaceChildren();
    return;
  }
  const all = state.open.includes("ranking");
  const shown = all ? ranked : ranked.slice(0, MOST_ENGINES);
  const most = Math.max(bounds(ranked.map((column) => column.score))[1], 2);
  const ticks = [1, 2, 5, 10, 30, 100, 300, 1000, 1e4, 1e5, 1e6].filter(
    (tick) => tick <= most * 1.001,
  );
  const width = (score) => (100 * Math.log(Math.max(score, 1))) / Math.log(most);
  const items = shown.map((column) => {
    const { name: title } = DATA.engines[column.engine];
    const isPart = column.cells < column.of;
    const figure = times(column.score);
    const counted = isPart ? `${column.cells} of ${column.of} cells` : plural(column.cells, "cell");
    const bar = el("span", { class: "bar", style: `width:${width(column.score).toFixed(2)}%` });
    return el(
      "li",
      { class: isPart ? "part" : undefined },
      swatch(column.engine),
      name(title, { class: "engine" }),
      el("span", { class: "badges" }, ...badges(column)),
      el("span", { class: "track", "aria-hidden": "true" }, ...gridlines(ticks, width), bar),
      el("span", { class: "figure" }, figure),
      el("span", { class: "count" }, counted),
    );
  });
  // One line or several of the same length: 20 engines are more than a screen.
  const some = thinned(ticks, width);
  const axis = el(
    "li",
    { class: "axis", "aria-hidden": "true" },
    el("span", { class: "track" }, ...some),
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
  if (shown.length < ranked.length) section.append(showAll("ranking", ranked.length, "engine"));
}

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
