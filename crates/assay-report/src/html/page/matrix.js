// The matrix: a row for each operation of a workload, a column for each engine.

/** More rows than that are behind a button. */
const MOST_ROWS = 200;
/** Columns that fit on a sheet of paper; more are printed below. */
const PRINTED_COLUMNS = 7;

/** The shades, each up to a ratio: one scale, whose middle is as fast as the base. */
const SHADES = [1 / 30, 1 / 5, 1 / 1.5, 1.1, 2, 5, 20, 100, Infinity];
const shadeOf = (ratio) => `r${SHADES.findIndex((most) => ratio <= most)}`;

/** Why a cell has no figure: a word and the reason. */
function reasonOf(cell) {
  if (!cell) return { word: "–", why: "not measured in these runs" };
  const { line, phase } = cell;
  if (line.trouble) {
    const [kind, why] = line.trouble;
    const isBad = ["wrong", "failed", "killed"].includes(kind);
    return { word: isBad ? kind : "–", why: why ? `${kind}: ${why}` : kind, isBad };
  }
  if (phase?.why !== undefined) return { word: "–", why: DATA.texts[phase.why] };
  return { word: "–", why: "this operation was not asked for" };
}

/** What rows differ in beside their operation. */
function titlesOf(rows) {
  const differ = (of) => new Set(rows.map(of)).size > 1;
  const [byRows, byThreads] = [(row) => row.rows, (row) => row.threads].map(differ);
  const workOf = worksOf(rows);
  return (row) =>
    [byRows && rowCount(row.rows), byThreads && plural(row.threads, "thread"), workOf(row)].filter(
      Boolean,
    );
}

/** A row's work in words, without those that all works have. */
function worksOf(rows) {
  const pieces = (work) => work.split(/ · |, /);
  const all = distinct(rows.map((row) => row.work));
  const common = all
    .slice(1)
    .reduce(
      (left, work) => new Set(pieces(work).filter((piece) => left.has(piece))),
      new Set(all.length ? pieces(all[0]) : []),
    );
  return (row) =>
    pieces(row.work)
      .filter((piece) => !common.has(piece))
      .join(", ");
}

/** What a cell is compared with: nanoseconds of the base, or of the best. */
function baseOf(row, base) {
  return base === null ? row.best : row.cells.get(base)?.ns;
}

function drawMatrix(shown) {
  const section = byId("matrix");
  const { rows, matrixColumns: columns } = shown;
  if (!columns.length) {
    section.replaceChildren(
      el("h2", { id: "matrix-title" }, "No figures"),
      el("p", {}, "Nothing that is chosen was measured."),
      missing(shown),
    );
    return;
  }
  const base = DATA.engines.findIndex((engine) => engine.name === state.base);
  const hasBase = base >= 0 && columns.some((column) => column.engine === base);
  const against = hasBase ? base : null;
  const some = state.open.includes("rows") ? rows : rows.slice(0, MOST_ROWS);
  const most = state.open.includes("columns") ? columns : columns.slice(0, MOST_ENGINES);
  const focus = section.querySelector("[tabindex='0']")?.dataset.at;
  const table = tableOf(some, most, against, focus);
  section.replaceChildren(
    el(
      "h2",
      { id: "matrix-title" },
      "Every cell, × the time of ",
      hasBase ? name(state.base) : "the fastest",
    ),
    controls(hasBase),
    el("div", { class: "scroll" }, table),
    legend(hasBase),
    legendOfFigures(shown),
  );
  if (some.length < rows.length) section.append(showAll("rows", rows.length, "row"));
  if (most.length < columns.length) section.append(showAll("columns", columns.length, "column"));
  section.append(missing(shown));
  fitScroll();
}

function controls(hasBase) {
  const set = (change) => () => {
    Object.assign(state, change);
    update();
  };
  const button = (text, isOn, change) =>
    el("button", { type: "button", "aria-pressed": String(isOn), onclick: set(change) }, text);
  const isByRow = state.sort !== "rank" && state.sort !== "name";
  const parts = [
    "Choose an engine's name to make it the base, an operation to sort by it; " +
      "a cell says its figure and interval. ",
    el("span", { class: "title" }, "order "),
    button("ranking", state.sort === "rank", { sort: "rank" }),
    button("name", state.sort === "name", { sort: "name" }),
  ];
  if (isByRow) parts.push(" by one operation ");
  if (hasBase)
    parts.push(
      el("span", { class: "title" }, " base "),
      button("the fastest", false, { base: null }),
    );
  return el("p", { class: "note controls" }, ...parts);
}

function tableOf(rows, columns, base, focus) {
  const titles = titlesOf(rows);
  const body = rows.map((row, at) => bodyRow(row, at, columns, base, titles(row)));
  const heads = columns.map((column, at) => columnHead(column, at, base));
  const corner = el("th", { scope: "col", class: "corner" }, "operation");
  const table = el(
    "table",
    { role: "grid", "aria-labelledby": "matrix-title" },
    el("thead", {}, el("tr", {}, corner, ...heads)),
    el("tbody", {}, ...body),
  );
  const first =
    table.querySelector(`[data-at='${focus ?? "0,0"}']`) ?? table.querySelector("[data-at='0,0']");
  first?.setAttribute("tabindex", "0");
  for (const [event, act] of Object.entries(GRID)) table.addEventListener(event, act);
  return table;
}

function columnHead(column, at, base) {
  const isBase = column.engine === base;
  const { name: title } = DATA.engines[column.engine];
  const turn = () => {
    state.base = isBase ? null : title;
    update();
  };
  const act = {
    type: "button",
    class: "engine",
    tabindex: "-1",
    "aria-pressed": String(isBase),
    "data-at": `-1,${at}`,
    onclick: turn,
  };
  return el(
    "th",
    { scope: "col" },
    el("button", act, name(title)),
    el(
      "small",
      {},
      distinct(column.lines.map((line) => line.keys)).join(", "),
      signsOf(column.common.values()),
    ),
  );
}

function bodyRow(row, at, columns, base, titles) {
  const isSorted = state.sort === row.key;
  const turn = () => {
    state.sort = isSorted ? "rank" : row.key;
    update();
  };
  const act = {
    type: "button",
    tabindex: "-1",
    "aria-pressed": String(isSorted),
    "data-at": `${at},-1`,
    onclick: turn,
  };
  const small = titles.length ? el("small", {}, " ", titles.join(" · ")) : "";
  const button = el("button", act, name(row.operation), small);
  const head = el("th", { scope: "row" }, button, signsOf(row.common.values()));
  const cells = columns.map((column, x) => cellOf(row, column, at, x, base));
  return el("tr", {}, head, ...cells);
}

function cellOf(row, column, at, x, base) {
  const cell = row.cells.get(column.engine);
  const attributes = { tabindex: "-1", "data-at": `${at},${x}` };
  const td = (text, kind) => {
    const element = el("td", { class: kind, ...attributes }, text);
    element.cell = { row, column, cell, base };
    return element;
  };
  if (!isFigure(cell?.ns)) {
    const { word, isBad } = reasonOf(cell);
    return td(word, isBad ? "none bad" : "none");
  }
  const reference = baseOf(row, base);
  const isReference = base === null ? cell.ns === row.best : column.engine === base;
  const isSaid = ({ key }) => column.common.has(key) || row.common.has(key);
  const own = distinct(marksOf(cell).filter((mark) => !isSaid(mark)).map(({ sign }) => sign));
  const mark = own.length ? ` ${own.join("")}` : "";
  if (isReference)
    return td(`${quantity(1e9 / cell.ns)}/s${mark}`, base === null ? "best" : "base");
  if (!isFigure(reference)) return td(`${quantity(1e9 / cell.ns)}/s${mark}`, "unbased");
  const ratio = cell.ns / reference;
  return td(times(ratio) + mark, shadeOf(ratio) + (cell.ns === row.best ? " fastest" : ""));
}

/** Between what a rate lies, and what that is. */
function spreadOf({ spread, is_interval: isInterval }, { trials }) {
  if (!spread) return `no interval: ${plural(trials, "trial")}`;
  const what = isInterval ? "95 % interval" : "range of rounds";
  return `${what} ${quantity(spread[0])} – ${quantity(spread[1])} /s, ${plural(trials, "trial")}`;
}

/** The speed-up of a figure in words. */
function speedUpOf({ fewest, times: factor, efficiency, interval }) {
  const ends = interval ? `, 95 % interval ${factors(interval[0])} – ${factors(interval[1])}` : "";
  const of = `${factors(factor)} the rate of ${plural(fewest, "thread")}`;
  return `${of}, efficiency ${Math.round(efficiency * 100)} %${ends}`;
}

/** All that is known of a cell, as lines. */
function describe({ row, column, cell, base }) {
  const { name: title } = DATA.engines[column.engine];
  const head = el(
    "strong",
    {},
    name(title),
    " · ",
    name(row.operation),
    ` · ${rowCount(row.rows)} rows`,
  );
  if (!isFigure(cell?.ns)) return [head, el("span", {}, reasonOf(cell).why)];
  const { line, phase } = cell;
  const lines = [
    head,
    el(
      "span",
      { class: "exact" },
      `${quantity(phase.rate)} operations/s · ${duration(cell.each)} each` +
        (phase.threads > 1 ? `, on each of ${phase.threads} threads at once` : ""),
    ),
  ];
  lines.push(el("span", {}, spreadOf(phase, line)));
  lines.push(el("span", {}, `${times(cell.ns / row.best)} the time of the fastest`));
  const reference = baseOf(row, base);
  if (base !== null && isFigure(reference)) {
    lines.push(
      el("span", {}, `${times(cell.ns / reference)} the time of `, name(DATA.engines[base].name)),
    );
  }
  const speedUp = phase.speed_up;
  if (speedUp) lines.push(el("span", {}, speedUpOf(speedUp)));
  const asked = line.level !== line.wanted ? ` (asked for: ${line.wanted})` : "";
  lines.push(
    el(
      "span",
      {},
      `${line.keys} · ${line.storage} · ${line.level}${asked} · version ${line.version}`,
    ),
  );
  if (isFigure(phase.timed_share)) {
    const share = `${Math.round(phase.timed_share * 100)} % of the time on the clock`;
    const cost = `${quantity(phase.per_cpu_second)} operations per CPU-second`;
    lines.push(el("span", {}, isFigure(phase.per_cpu_second) ? `${share} · ${cost}` : share));
  }
  for (const { sign, text } of marksOf(cell)) {
    lines.push(el("span", { class: "warn" }, name(`${sign} ${text}`, { title: undefined })));
  }
  if (DATA.runs.length > 1) {
    const others = cell.older ? `, the newest of ${cell.older + 1}` : "";
    lines.push(el("span", {}, `run of ${DATA.runs[line.run].created}${others}`));
  }
  return lines;
}

function showDetail(td) {
  hideDetail();
  const detail = byId("detail");
  detail.replaceChildren(...describe(td.cell));
  detail.hidden = false;
  td.setAttribute("aria-describedby", "detail");
  const [at, own] = [td.getBoundingClientRect(), detail.getBoundingClientRect()];
  const left = Math.max(8, Math.min(at.left, innerWidth - own.width - 8));
  const isBelow = at.bottom + own.height + 10 < innerHeight;
  detail.style.left = `${left}px`;
  detail.style.top = `${isBelow ? at.bottom + 6 : Math.max(8, at.top - own.height - 6)}px`;
}

function hideDetail() {
  byId("detail").hidden = true;
  document.querySelector("[aria-describedby='detail']")?.removeAttribute("aria-describedby");
}

/** What is said of a cell goes with it. */
function followDetail() {
  const td = document.querySelector("[aria-describedby='detail']");
  if (td) showDetail(td);
}

const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** The keys of a grid: arrows, Home and End; one cell at a time is a stop for Tab. */
function walk(event) {
  const from = event.target.closest("[data-at]");
  if (!from) return;
  if (event.key === "Escape") hideDetail();
  const [row, column] = from.dataset.at.split(",").map(Number);
  const table = event.currentTarget;
  const last = table.tHead.rows[0].cells.length - 2;
  const ends = { Home: [row, row < 0 ? 0 : -1], End: [row, last] };
  const step = ARROWS[event.key];
  const [y, x] = step ? [row + step[0], column + step[1]] : (ends[event.key] ?? [NaN, NaN]);
  const to = table.querySelector(`[data-at='${y},${x}']`);
  if (!to) return;
  event.preventDefault();
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
  to.scrollIntoView({ block: "nearest", inline: "nearest" });
}

const cellUnder = (event) => event.target.closest("td[data-at]");
const GRID = {
  keydown: walk,
  focusin: (event) => (cellUnder(event) ? showDetail(cellUnder(event)) : hideDetail()),
  focusout: hideDetail,
  mouseover: (event) => cellUnder(event) && showDetail(cellUnder(event)),
  mouseleave: hideDetail,
  click: (event) => cellUnder(event)?.focus(),
};

function legend(hasBase) {
  const faster = ["≤ 1/30", "≤ 1/5", "≤ 1/1.5"];
  const text = [...faster, "≤ 1.1×", "≤ 2×", "≤ 5×", "≤ 20×", "≤ 100×", "more"];
  const from = hasBase ? 0 : 3;
  const steps = text.slice(from).map((step, at) => el("li", { class: `r${at + from}` }, step));
  const none = el("li", { class: "none" }, "no figure");
  return el("ul", { class: "legend", "aria-label": "Shades" }, ...steps, none);
}

/** Engines that have no figure here, with the reasons. */
function missing({ columns }) {
  const reasons = new Map();
  for (const column of columns.without) {
    const cell = { line: column.lines[0], phase: column.lines[0].phases[0] };
    const { why } = reasonOf(cell);
    if (!reasons.has(why)) reasons.set(why, []);
    reasons.get(why).push(name(DATA.engines[column.engine].name));
  }
  const items = [...reasons].slice(0, MOST_CHIPS).map(([why, names]) => {
    const some = names.slice(0, MOST_CHIPS).flatMap((one, at) => (at ? [", ", one] : [one]));
    if (names.length > MOST_CHIPS) some.push(` and ${names.length - MOST_CHIPS} more`);
    return el("li", {}, ...some, `: ${why}`);
  });
  if (!items.length) return "";
  return el(
    "details",
    { class: "missing" },
    el("summary", {}, `${plural(columns.without.length, "engine")} without a figure here`),
    el("ul", {}, ...items),
  );
}

/** A table that is wider than the page scrolls in a frame of its own. */
function fitScroll() {
  for (const frame of document.querySelectorAll(".scroll")) {
    frame.classList.remove("is-wide");
    if (frame.scrollWidth > frame.clientWidth + 1) frame.classList.add("is-wide");
  }
  keepHeads();
}

/** In such a frame, headings cannot stick to the page by style alone: they are moved there. */
function keepHeads() {
  for (const frame of document.querySelectorAll(".scroll")) {
    const head = frame.querySelector("thead");
    const [outer, own] = [frame.getBoundingClientRect(), head.getBoundingClientRect()];
    const most = outer.height - 2 * own.height;
    const down = frame.classList.contains("is-wide")
      ? Math.min(Math.max(0, -outer.top), Math.max(0, most))
      : 0;
    head.style.transform = down ? `translateY(${down}px)` : "";
  }
}

/** For paper: all columns, as many beside each other as fit. */
function printMatrix(shown) {
  const { rows, matrixColumns: columns } = shown;
  const base = DATA.engines.findIndex((engine) => engine.name === state.base);
  const against = columns.some((column) => column.engine === base) ? base : null;
  const sheets = [];
  for (let at = 0; at < columns.length; at += PRINTED_COLUMNS) {
    sheets.push(tableOf(rows, columns.slice(at, at + PRINTED_COLUMNS), against));
  }
  byId("matrix").append(el("div", { class: "on-paper" }, ...sheets));
}
