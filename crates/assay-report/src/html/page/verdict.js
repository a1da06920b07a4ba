// What the page opens with: what was asked of engines, and who leads, by how much, at which level.

const PLACES = { memory: "in memory", ramdisk: "on a RAM disk", disk: "on a disk" };

/** What a level promises. */
const PROMISES = {
  none: "nothing has to survive a crash",
  process: "what an engine acknowledged survives a killed process",
  periodic: "a power cut may cost the last moment of what an engine acknowledged",
  commit: "what an engine acknowledged survives a power cut",
};

/** The most cells that are named where the authors' own engine loses, and the most leaders. */
const MOST_LOST = 4;
const MOST_LEADERS = 3;

const engineName = (engine) => name(DATA.engines[engine].name);

/** What all of this is, in a few sentences. */
function lead({ columns }, only) {
  const ids = new Set(columns.ranked.map(({ engine }) => DATA.engines[engine].id));
  const [storage, level, what] = [only("storage"), only("level"), DATA.suites[only("suite")]];
  const maps = storage === "memory" && ids.size > 1 ? " and maps" : "";
  const parts = [`How fast ${plural(ids.size, "embedded database")}${maps}`];
  parts.push(ids.size === 1 ? " is" : " are", ` ${PLACES[storage] ?? ""}`);
  parts.push(what ? `: each ${what}. ` : ". ");
  if (PROMISES[level]) parts.push(`Durability ${level}: ${PROMISES[level]}. `);
  return [...parts, "Every answer was compared with what it had to be."];
}

/** A factor of which no part is rounded away. */
const exactly = (ratio) => (ratio < 1.1 ? `${ratio.toFixed(3)}×` : times(ratio));

const isOwnColumn = ({ engine }) => DATA.engines[engine].is_own;

/** The time of a row's fastest column among some; undefined if none has a figure. */
function fastestOf(row, columns) {
  const times = columns.map(({ engine }) => row.cells.get(engine)?.ns).filter(isFigure);
  return times.length ? Math.min(...times) : undefined;
}

/** Where the authors' own engine, with whatever keys and settings, loses: said first. */
function lostByOwn({ rows, columns }) {
  const own = columns.ranked.filter(isOwnColumn);
  if (!own.length) return [];
  const measured = rows
    .map((row) => ({ row, ns: fastestOf(row, own) }))
    .filter(({ ns }) => isFigure(ns));
  const losses = measured
    .filter(({ row, ns }) => ns > row.best)
    .map(({ row, ns }) => ({ row, ratio: ns / row.best }))
    .sort((a, b) => b.ratio - a.ratio);
  const title = name(DATA.engines[own[0].engine].id);
  const of = plural(measured.length, "cell");
  if (!losses.length) return [title, `, the authors' own engine, is the fastest in all ${of}. `];
  const titles = titlesOf(rows);
  const winner = (row) => [...row.cells].find(([, cell]) => cell.ns === row.best)[0];
  const some = losses.slice(0, MOST_LOST).map(({ row, ratio }, at) => [
    at ? ", " : "",
    name([row.operation, ...titles(row)].join(" ")),
    " (",
    engineName(winner(row)),
    ` ${exactly(ratio)})`,
  ]);
  const rest = losses.length > some.length ? ` and ${losses.length - some.length} more` : "";
  return [
    title,
    `, the authors' own engine, is slower than another in ${losses.length} of ${of}: `,
    ...some.flat(),
    `${rest}. `,
  ];
}

/** Who leads over all cells, and by how much. */
function leaders({ columns: { ranked } }) {
  const [first, ...others] = ranked.filter((column) => column.cells === column.of);
  if (!first) return ["No engine has a figure in every cell."];
  const parts = [`Over all ${plural(first.of, "cell")} `, engineName(first.engine), " leads"];
  const behind = (column) => [
    engineName(column.engine),
    ` at ${exactly(column.score / first.score)} its time`,
  ];
  const after = others.slice(0, MOST_LEADERS - 1);
  after.forEach((column, at) => parts.push(at ? ", then " : "; next is ", ...behind(column)));
  const own = others.find(isOwnColumn);
  if (own && !after.includes(own)) parts.push(", and ", ...behind(own));
  const above = ranked.slice(0, ranked.indexOf(first));
  if (above.length) {
    parts.push(". Above it, over the cells that they have: ");
    above.forEach((column, at) =>
      parts.push(at ? ", " : "", engineName(column.engine), ` (${column.cells} of ${column.of})`),
    );
  }
  return [...parts, "."];
}

function verdict(shown) {
  return [...lostByOwn(shown), ...leaders(shown)];
}
