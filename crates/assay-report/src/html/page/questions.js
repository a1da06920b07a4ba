// What a sceptic asks, answered from what is shown.

/** The answers, each with its question. */
function questions(shown) {
  if (!shown.columns.ranked.length) return null;
  const parts = [whose(), slow(shown), trees(shown), partial(shown), processors(shown)];
  const pair = ([question, answer]) => [el("dt", {}, question), el("dd", {}, ...answer)];
  return () => [el("dl", {}, ...parts.filter(Boolean).flatMap(pair))];
}

function whose() {
  const own = DATA.engines.find((engine) => engine.is_own);
  if (!own) return null;
  return [
    "Whose engine is which?",
    [
      name(own.id),
      " is of the authors of this instrument; no other engine is. The switch above hides it, and " +
        "all ratios are then of the others alone. Settings of every engine, and the command that " +
        "repeats each figure, are below.",
    ],
  ];
}

/** Engines that do more than the level asks, which is why they look slow. */
function slow({ columns }) {
  const does = columns.ranked.flatMap((column) => {
    const marks = marksOfLines(column.lines.filter(hasFigures));
    return marks
      .filter(({ id }) => id === "stronger")
      .map(({ text }) => [engineName(column.engine), ` (${text})`]);
  });
  const list = does.slice(0, MOST_CHIPS).flatMap((one, at) => (at ? [", ", ...one] : one));
  return [
    "Why is an engine so much slower?",
    [
      "Most often because it waits for the disk at each commit and others do not. ",
      ...(list.length ? ["▲ marks those that do more than this level asks: ", ...list, ". "] : []),
      "At level commit all of them wait, and the factors are small.",
    ],
  ];
}

function trees({ columns }) {
  const kindsOf = (column) => column.lines.filter(hasFigures).map((line) => line.keys);
  const kinds = new Set(columns.ranked.flatMap(kindsOf));
  if (kinds.size < 2) return null;
  return [
    "Why does a hash race trees?",
    [
      "Each engine keeps its keys as it does by default. A hash finds single keys faster and has " +
        "no order, so it reads no ranges. Choose keys: tree above to compare trees alone.",
    ],
  ];
}

function partial({ columns }) {
  const short = columns.ranked.filter((column) => column.cells < column.of);
  if (!short.length) return null;
  return [
    "Why does an engine with some of the cells stand so high?",
    [
      ...short.slice(0, MOST_CHIPS).flatMap((column, at) => [
        at ? ", " : "",
        engineName(column.engine),
        ` (${column.cells} of ${column.of})`,
      ]),
      ": ranked over the cells that it has, against the best of the same cells. It stands below " +
        "each engine that is faster over the cells that both have. Hatched cells say why there is " +
        "no figure.",
    ],
  ];
}

function processors({ lines }) {
  const cpus = distinct(lines.map((line) => DATA.runs[line.run].cpus));
  const threads = bounds(lines.flatMap((line) => line.phases.map((phase) => phase.threads)));
  return [
    `What happens with more than ${plural(bounds(cpus)[1], "processor")}?`,
    [
      "These figures do not say. They are of machines with " +
        `${cpus.sort((a, b) => a - b).join(" and ")} processors, and of at most ` +
        `${plural(threads[1], "thread")}; threads beyond the processors take turns.`,
    ],
  ];
}
