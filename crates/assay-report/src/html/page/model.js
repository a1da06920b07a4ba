// What the page knows: the data, the state that the address holds, and what of the data is shown.

const DATA = JSON.parse(byId("data").textContent);

/** What a machine is. */
const partsOf = (run) => [run.cpu, plural(run.cpus, "CPU"), bytes(run.memory_bytes), run.kernel];

/** A machine, as one text: runs of another one are not compared with it. */
const machineOf = (run) => partsOf(run).join(" · ");

const MACHINES = DATA.runs.map(machineOf);

/** The parts of a machine that not all machines have, so that two chips never say the same. */
function ownParts(machine) {
  const all = DATA.runs.map(partsOf);
  const parts = all[MACHINES.indexOf(machine)];
  const isOwn = (part, at) => all.some((other) => other[at] !== part);
  return parts.filter(isOwn).join(" · ") || machine;
}

/** What chips choose by. Of the dimensions with `one`, exactly one value is shown. */
const DIMENSIONS = [
  {
    id: "machine",
    title: "machine",
    one: true,
    of: (line) => MACHINES[line.run],
    show: ownParts,
  },
  { id: "suite", title: "suite", one: true, of: (line) => line.suite },
  { id: "storage", title: "storage", one: true, of: (line) => line.storage },
  { id: "level", title: "durability", one: true, of: (line) => line.wanted },
  { id: "keys", title: "keys", of: (line) => line.keys },
  { id: "rows", title: "rows", of: (line) => line.rows, show: (rows) => rowCount(Number(rows)) },
  { id: "threads", title: "threads", of: (line) => line.threads },
  {
    id: "work",
    title: "work",
    of: (line) => line.work + (line.is_cold ? " · page cache cold" : ""),
  },
  { id: "operation", title: "operation" },
  { id: "engine", title: "engine", of: (line) => DATA.engines[line.engine].name },
  { id: "run", title: "run", of: (line) => DATA.runs[line.run].created },
];
const dimension = (id) => DIMENSIONS.find((one) => one.id === id);

const distinct = (values) => [...new Set(values)];
const isNumbered = (id) => id === "rows" || id === "threads";

/** The values of a dimension in some lines, as texts, in a steady order. */
function valuesOf(dim, lines) {
  if (dim.id === "operation") {
    return distinct(lines.flatMap((line) => line.phases.map((phase) => phase.name)));
  }
  const values = distinct(lines.map(dim.of));
  if (isNumbered(dim.id)) values.sort((a, b) => a - b);
  if (dim.id === "run") values.sort();
  return values.map(String);
}

const hasFigures = (line) => line.phases.some((phase) => isFigure(phase.rate));

/** The value with the most of the wanted engines, and then with the most engines with figures. */
function fullest(dim, lines, wanted) {
  const engines = new Map();
  for (const line of lines.filter(hasFigures)) {
    const value = String(dim.of(line));
    if (!engines.has(value)) engines.set(value, new Set());
    engines.get(value).add(line.engine);
  }
  const isWanted = (engine) => wanted.has(DATA.engines[engine].name);
  const count = ([, some]) => [...some].filter(isWanted).length;
  const most = [...engines].sort((a, b) => count(b) - count(a) || b[1].size - a[1].size)[0];
  return most ? most[0] : String(dim.of(lines[0]));
}

/**
 * What is chosen: for each dimension the values (none: all), the base, the order, what is open, and
 * whether the authors' own engine is hidden.
 */
const emptyState = () => ({ chosen: {}, base: null, sort: "rank", open: [], hidesOwn: false });
let state = emptyState();

const split = (text) => text.split(",").map(decodeURIComponent);
const join = (values) => values.map(encodeURIComponent).join(",");

/** Reads the state from the address; returns what these runs do not have. */
function readAddress() {
  state = emptyState();
  const unknown = [];
  const parameters = location.hash.slice(1).split("&").filter(Boolean);
  for (const parameter of parameters) {
    const [key, text = ""] = parameter.split(/=(.*)/s);
    let values;
    try {
      values = split(text);
    } catch {
      unknown.push(parameter);
      continue;
    }
    const dim = dimension(key);
    if (dim) {
      const known = new Set(valuesOf(dim, DATA.lines));
      unknown.push(...values.filter((value) => !known.has(value)).map((v) => `${dim.title} ${v}`));
      const found = values.filter((value) => known.has(value));
      if (found.length) state.chosen[key] = dim.one ? found.slice(0, 1) : found;
    } else if (key === "base") state.base = values[0];
    else if (key === "sort") state.sort = values.join(",");
    else if (key === "open") state.open = values;
    else if (key === "own" && text === "hidden") state.hidesOwn = true;
    else unknown.push(key);
  }
  if (state.base !== null && !DATA.engines.some((engine) => engine.name === state.base)) {
    unknown.push(`engine ${state.base}`);
    state.base = null;
  }
  return unknown;
}

/** Writes the state to the address, so that a link has it. */
function writeAddress() {
  const parts = DIMENSIONS.filter((dim) => state.chosen[dim.id]?.length).map(
    (dim) => `${dim.id}=${join(state.chosen[dim.id])}`,
  );
  if (state.base !== null) parts.push(`base=${encodeURIComponent(state.base)}`);
  if (state.sort !== "rank") parts.push(`sort=${encodeURIComponent(state.sort)}`);
  if (state.hidesOwn) parts.push("own=hidden");
  if (state.open.length) parts.push(`open=${join(state.open)}`);
  history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname);
}

const isOwn = (line) => DATA.engines[line.engine].is_own;

/** The engines that the state names. */
const wantedEngines = () =>
  new Set([...(state.chosen.engine ?? []), ...(state.base === null ? [] : [state.base])]);

/** What the state names and the rest of what is chosen does not have. */
function dropped(offered, columns) {
  const lost = offered.flatMap(({ dim, values }) =>
    (state.chosen[dim.id] ?? [])
      .filter((value) => !values.includes(value))
      .map((value) => `${dim.title} ${dim.show ? dim.show(value) : value}`),
  );
  const hasBase = columns.ranked.some(({ engine }) => DATA.engines[engine].name === state.base);
  if (state.base !== null && !hasBase) lost.push(`base ${state.base}`);
  return lost;
}

/** What is shown: its dimensions, cells, engines and their ranking. */
function view() {
  const others = state.hidesOwn ? DATA.lines.filter((line) => !isOwn(line)) : DATA.lines;
  let lines = others.length ? others : DATA.lines;
  const wanted = wantedEngines();
  const offered = [];
  for (const dim of DIMENSIONS) {
    const values = valuesOf(dim, lines);
    let chosen = (state.chosen[dim.id] ?? []).filter((value) => values.includes(value));
    if (dim.one && !chosen.length) chosen = [fullest(dim, lines, wanted)];
    offered.push({ dim, values, chosen });
    if (!chosen.length || dim.id === "operation") continue;
    const kept = new Set(chosen);
    lines = lines.filter((line) => kept.has(String(dim.of(line))));
  }
  const operations = offered.find(({ dim }) => dim.id === "operation").chosen;
  const rows = rowsOf(lines, operations);
  const columns = rankingOf(rows, lines);
  const shown = { offered, lines, rows, columns, dropped: dropped(offered, columns) };
  findCommon(shown);
  order(shown);
  return shown;
}

/** What a row of the matrix is about, as a key. */
const workloadKey = (line) =>
  [
    line.suite,
    line.work,
    line.storage,
    line.wanted,
    line.is_cold ? "cold" : "",
    line.rows,
    line.threads,
  ].join("\u0000");

/** The rows of the matrix: an operation of a workload, with the cell of each engine. */
function rowsOf(lines, operations) {
  const workloads = new Map();
  for (const line of lines) {
    const key = workloadKey(line);
    if (!workloads.has(key)) workloads.set(key, []);
    workloads.get(key).push(line);
  }
  const names = valuesOf(dimension("operation"), lines);
  const wanted = operations.length ? names.filter((one) => operations.includes(one)) : names;
  const rows = [];
  for (const [key, all] of workloads) {
    const has = new Set(all.flatMap((line) => line.phases.map((phase) => phase.name)));
    for (const operation of wanted.filter((one) => has.has(one))) {
      rows.push(rowOf(`${operation}\u0000${key}`, operation, all));
    }
  }
  const place = new Map(wanted.map((one, at) => [one, at]));
  const works = new Map(valuesOf(dimension("work"), lines).map((one, at) => [one, at]));
  const by = (row) => [place.get(row.operation), works.get(row.work), row.rows, row.threads];
  const keyed = rows.map((row) => [by(row), row]);
  keyed.sort(([a], [b]) => a.map((part, at) => part - b[at]).find((d) => d !== 0) ?? 0);
  return keyed.map(([, row]) => row);
}

function rowOf(key, operation, lines) {
  const cells = new Map();
  for (const line of lines) {
    const phase = line.phases.find((one) => one.name === operation);
    const before = cells.get(line.engine);
    const cell = { line, phase, older: before ? before.older + 1 : 0 };
    cell.ns = phase && phase.rate > 0 ? 1e9 / phase.rate : undefined;
    if (!isFigure(cell.ns)) cell.ns = undefined;
    else cell.each = cell.ns * phase.threads;
    // Of several runs the newest counts.
    const isNewer = !before || DATA.runs[line.run].created >= DATA.runs[before.line.run].created;
    if (isNewer) cells.set(line.engine, cell);
    else before.older += 1;
  }
  const ns = [...cells.values()].map((cell) => cell.ns).filter(isFigure);
  const { rows, threads } = lines[0];
  const work = dimension("work").of(lines[0]);
  const best = ns.length ? ns.reduce((a, b) => Math.min(a, b)) : undefined;
  return { key, operation, rows, threads, work, cells, best };
}

/** Ten nanoseconds are added to both: below that, a difference is of the instrument too. */
const FLOOR_NS = 10;
const handicap = (ns, best) => Math.log((FLOOR_NS + ns) / (FLOOR_NS + best));
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

/** The engines with figures, the best first; and those without. */
function rankingOf(rows, lines) {
  const ranked = [];
  const without = [];
  const possible = rows.filter((row) => isFigure(row.best));
  const byEngine = new Map();
  for (const line of lines) {
    if (!byEngine.has(line.engine)) byEngine.set(line.engine, []);
    byEngine.get(line.engine).push(line);
  }
  for (const [engine, of] of byEngine) {
    const own = possible.filter((row) => isFigure(row.cells.get(engine)?.ns));
    const column = { engine, lines: of, cells: own.length, of: possible.length };
    if (!own.length) without.push(column);
    else {
      column.own = new Map(
        own.map((row) => [row.key, handicap(row.cells.get(engine).ns, row.best)]),
      );
      column.score = Math.exp(mean([...column.own.values()]));
      ranked.push(column);
    }
  }
  ranked.sort((a, b) => a.score - b.score);
  return { ranked: placed(ranked), without };
}

/** Of more engines than that, those that lack cells stand below all others. */
const MOST_COMPARED = 500;

/**
 * The order of engines. One that lacks cells stands below each that is faster over the cells that
 * both have, so that it gains nothing by the cells that it lacks.
 */
function placed(ranked) {
  const order = ranked.filter((column) => column.cells === column.of);
  const short = ranked.filter((column) => column.cells < column.of);
  if (ranked.length > MOST_COMPARED) return [...order, ...short];
  for (const column of short) {
    const isFaster = (other) => {
      const both = [...column.own.keys()].filter((key) => other.own.has(key));
      const over = (one) => mean(both.map((key) => one.own.get(key)));
      return other.score < column.score || (both.length > 0 && over(other) < over(column));
    };
    const last = order.findLastIndex(isFaster);
    order.splice(last + 1, 0, column);
  }
  return order;
}

/** Sorts the columns as the state says. */
function order(shown) {
  const { ranked } = shown.columns;
  shown.matrixColumns = [...ranked];
  if (state.sort === "name") {
    const title = (column) => DATA.engines[column.engine].name;
    shown.matrixColumns.sort((a, b) => title(a).localeCompare(title(b)));
    return;
  }
  const row = shown.rows.find((one) => one.key === state.sort);
  if (!row) return;
  const ns = (column) => row.cells.get(column.engine)?.ns ?? Infinity;
  shown.matrixColumns.sort((a, b) => (ns(a) === ns(b) ? 0 : ns(a) - ns(b)));
}
