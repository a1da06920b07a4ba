// What stands below the matrix, each drawn when it is opened.

/** A table whose first `words` columns are words, the others numbers. */
function plainTable(title, heads, rows, words) {
  const head = heads.map((text, at) =>
    el("th", { scope: "col", class: at < words && "words" }, text),
  );
  const some = rows.slice(0, 1000);
  const cell = (value, at) => {
    const isWord = at < words;
    const content = isWord ? name(value) : value;
    return at === 0
      ? el("th", { scope: "row" }, content)
      : el("td", { class: isWord && "words" }, content);
  };
  const body = some.map((row) => el("tr", {}, ...row.map(cell)));
  const more =
    rows.length > some.length
      ? el("p", { class: "note" }, `${rows.length - some.length} more rows: choose less above.`)
      : "";
  const table = el(
    "table",
    { class: "plain", "aria-label": title },
    el("thead", {}, el("tr", {}, ...head)),
    el("tbody", {}, ...body),
  );
  return el(
    "div",
    {},
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, table),
    more,
  );
}

/** Speed-up and efficiency of engines with several numbers of threads. */
function speedUps(shown) {
  const found = [];
  for (const [title, rows] of grouped(shown, "threads")) {
    for (const { engine } of shown.columns.ranked) {
      for (const { cells } of rows) {
        const phase = cells.get(engine)?.phase;
        if (phase?.speed_up) found.push({ title, engine, ...phase, speedUp: phase.speed_up });
      }
    }
  }
  if (!found.length) return null;
  const heads = ["operation", "engine", "threads", "speed-up", "95 % interval", "efficiency"];
  const rows = found.map(({ title, engine, threads, speedUp }) => [
    title,
    DATA.engines[engine].name,
    `${threads} : ${speedUp.fewest}`,
    factors(speedUp.times),
    speedUp.interval ? speedUp.interval.map(factors).join(" – ") : "–",
    `${Math.round(speedUp.efficiency * 100)} %`,
  ]);
  const note =
    "Speed-up is the rate ÷ the rate of the engine's fewest threads; " +
    "efficiency is the speed-up ÷ the ratio of threads.";
  return () => [
    el("p", { class: "note" }, note),
    plainTable("Speed-up by threads", heads, rows, 2),
  ];
}

/** Memory, disk, bytes written and the time to close. */
function space(shown) {
  if (!shown.columns.ranked.length) return null;
  const heads = ["engine", "workload", "memory at most", "disk at most", "written", "to close"];
  const note =
    "Of the whole process: memory is the largest resident set, with the instrument's own; " +
    "disk is the most that was seen of the store.";
  return () => [
    el("p", { class: "note" }, note),
    plainTable("Space and memory", heads, spaceRows(shown), 2),
  ];
}

/** What stores on disk took after each phase, and what was written for what changed. */
function stores(shown) {
  const found = [];
  const of = (phase) => (phase?.aged ? [{ title: phase.name, value: phase.aged }] : []);
  for (const [title, all] of collected(shown, of))
    found.push(...all.map((one) => ({ title, ...one })));
  if (!found.length) return null;
  const heads = ["after", "engine", "on disk", "live", "on disk ÷ live"];
  heads.push("written ÷ changed", "longest stall", "memory", "steady");
  const rows = found.map(({ title, column, value }) => [
    title,
    DATA.engines[column.engine].name,
    bytes(value.store_bytes),
    bytes(value.live_bytes),
    factors(value.space),
    factors(value.written),
    duration(value.stall_ns),
    bytes(value.memory_bytes),
    value.steady ?? "–",
  ]);
  const note =
    "Live are the bytes of keys and values that are there; written is what reached the device, " +
    "changed the bytes of keys and values that were inserted, replaced or deleted.";
  return () => [el("p", { class: "note" }, note), plainTable("Stores by phase", heads, rows, 2)];
}

function spaceRows(shown) {
  const titles = titlesOf(shown.rows);
  const seen = new Set();
  const rows = [];
  for (const column of shown.columns.ranked) {
    for (const row of shown.rows) {
      const line = row.cells.get(column.engine)?.line;
      if (!line || seen.has(line) || !hasFigures(line)) continue;
      seen.add(line);
      const rest = titles(row).join(" · ") || `${rowCount(row.rows)} rows`;
      const sizes = [line.memory_bytes, line.disk_bytes, line.written_bytes].map(bytes);
      rows.push([DATA.engines[column.engine].name, rest, ...sizes, duration(line.close_ns)]);
    }
  }
  return rows;
}

/** Settings, with the notes of drivers: each once. */
function settings({ lines }) {
  const measured = lines.filter(hasFigures);
  if (!measured.length) return null;
  return () => {
    const all = new Map();
    for (const line of measured) {
      const { engine, version, storage, level, settings: set } = line;
      const marks = marksOfLines([line]).map(({ key }) => key);
      const key = [engine, version, storage, level, set.join("+"), marks.join("+")].join("\u0000");
      if (!all.has(key)) all.set(key, line);
    }
    return [el("dl", { class: "columns" }, ...[...all.values()].slice(0, 300).map(settingsOf))];
  };
}

function settingsOf(line) {
  const { engine, version, storage, level, settings: set } = line;
  const of = (places) => places.map((at) => DATA.texts[at]);
  return el(
    "div",
    {},
    el("dt", {}, name(DATA.engines[engine].name), ` ${version} · ${storage} · ${level}`),
    el("dd", {}, of(set).join(" · ") || "as the engine comes"),
    ...marksOfLines([line]).map(({ sign, text }) =>
      el("dd", { class: "note" }, name(`${sign} ${text}`)),
    ),
  );
}

/** What speaks against figures: warnings, refuted levels, runs that are not whole. */
function trust(shown) {
  const items = [];
  const runs = distinct(shown.lines.map((line) => line.run)).map((at) => DATA.runs[at]);
  const add = (text) => items.push(text);
  for (const run of runs) {
    if (run.cells !== run.planned)
      add(`The run of ${run.created} is not complete: ${run.cells} of ${run.planned} cells.`);
  }
  for (const run of runs) {
    for (const { subject, found, advice } of run.warnings) {
      add(`${subject}: ${found}${advice ? `; ${advice}` : ""}`);
    }
  }
  for (const line of shown.lines) {
    for (const { id, sign, text } of marksOfLines([line])) {
      if (id === "refuted") add(`${sign} ${text}`);
    }
    if (line.trouble && ["wrong", "failed", "killed"].includes(line.trouble[0])) {
      add(
        `${DATA.engines[line.engine].name} · ${rowCount(line.rows)} rows: ` +
          line.trouble.join(": "),
      );
    }
  }
  const counts = new Map();
  const marks = shown.lines.flatMap((line) => line.phases.flatMap((phase) => phase.marks ?? []));
  for (const { sign, text } of marks.map(markFrom)) {
    const words = `${sign} ${text}`;
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  for (const [words, count] of counts) add(`${plural(count, "figure")}: ${words}.`);
  if (runs.length > 1)
    add(
      `Figures of ${runs.length} runs stand side by side: ` +
        "the machine may have been in another state in each.",
    );
  const some = distinct(items);
  if (!some.length) return null;
  const draw = () => [el("ul", {}, ...some.slice(0, 300).map((text) => el("li", {}, name(text))))];
  draw.count = some.length;
  return draw;
}

function machine(shown) {
  const runs = distinct(shown.lines.map((line) => line.run)).map((at) => DATA.runs[at]);
  const item = (run) => {
    const pair = (title, text) => [el("dt", {}, title), el("dd", {}, text)];
    const load = isFigure(run.load_1min) ? quantity(run.load_1min) : "unknown";
    const costs = run.instrument.map(({ phase, ns }) => `${phase} ${duration(ns)}`).join(", ");
    return el(
      "div",
      { class: "run" },
      el("h3", {}, `Run of ${run.created}`),
      run.file && el("p", {}, el("a", { href: run.file }, `run file ${run.file}`)),
      el("pre", { tabindex: "0" }, run.command),
      el(
        "dl",
        {},
        ...pair("machine", `${machineOf(run)} · ${run.distribution}`),
        ...pair(
          "state",
          `load ${load} at the start · governor ${run.governor ?? "none visible"} · ` +
            `clock ${run.clock} · huge pages ${run.huge_pages}`,
        ),
        ...pair(
          "build",
          `assay ${run.version} · ${run.rustc} · opt-level ${run.opt_level} · ${run.target}`,
        ),
        ...(run.baseline ? pair("@other", run.baseline) : []),
        ...(costs ? pair("instrument", `${costs} an operation, in the null engine`) : []),
      ),
    );
  };
  return () => runs.slice(0, 100).map(item);
}

const SECTIONS = [
  {
    id: "size",
    title: "Curves over size",
    of: curvesOver("rows", { scale: "values", label: "rows", show: rowCount }),
  },
  {
    id: "threads",
    title: "Curves over threads",
    of: curvesOver("threads", { scale: "values", label: "threads", show: String }),
  },
  { id: "speedup", title: "Speed-up by threads", of: speedUps },
  { id: "latency", title: "Latency percentiles", of: latencies },
  { id: "time", title: "Over time", of: overTime },
  { id: "stores", title: "Stores by phase", of: stores },
  { id: "published", title: "As the suite publishes it", of: published },
  { id: "space", title: "Space and memory", of: space },
  { id: "why", title: "What a sceptic asks", of: questions },
  { id: "trust", title: "What speaks against these figures", of: trust },
  { id: "settings", title: "Settings and versions", of: settings },
  { id: "repeat", title: "The machine, and the command that repeats it", of: machine },
];

function drawSections(shown) {
  shown.sizes = new Set(shown.rows.map((row) => row.rows)).size;
  shown.workOf = worksOf(shown.rows);
  const sections = SECTIONS.map(({ id, title, of }) => {
    const draw = of(shown);
    if (!draw) return null;
    const isOpen = state.open.includes(id);
    const count = draw.count ? ` (${draw.count})` : "";
    const box = el(
      "details",
      { id, class: "section", open: isOpen, "data-count": draw.count },
      el("summary", {}, el("h2", {}, title + count)),
    );
    const show = () => box.childElementCount === 1 && box.append(...draw());
    if (isOpen) show();
    box.addEventListener("toggle", () => {
      if (box.open) show();
      state.open = state.open.filter((one) => one !== id);
      if (box.open) state.open.push(id);
      writeAddress();
      fitScroll();
    });
    return box;
  });
  byId("more").replaceChildren(...sections.filter(Boolean));
}

/** Opens a section and goes there. */
function reveal(id) {
  const section = byId(id);
  if (!section) return;
  section.open = true;
  section.querySelector("summary").focus();
  section.scrollIntoView({ block: "start" });
}
