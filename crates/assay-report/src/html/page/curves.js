// The charts below the matrix, each drawn when its section is opened.

const MOST_CHARTS = 48;

/** What a row is about beside its operation, without what all rows have and what is across. */
function conditions(shown, row, across) {
  const parts = [
    across !== "rows" && shown.sizes > 1 && `${rowCount(row.rows)} rows`,
    across !== "threads" && row.threads > 1 && plural(row.threads, "thread"),
    shown.workOf(row),
  ];
  return parts.filter(Boolean);
}

/** Rows of one operation under the same conditions, by the title of their chart. */
function grouped(shown, across) {
  const groups = new Map();
  for (const row of shown.rows) {
    const title = [row.operation, ...conditions(shown, row, across)].join(" · ");
    if (!groups.has(title)) groups.set(title, []);
    groups.get(title).push(row);
  }
  return groups;
}

/** Charts with what is said of all of them. */
function figures(charts, some, note) {
  const pictures = charts.slice(0, MOST_CHARTS).map(chart).filter(Boolean);
  const rest = charts.length - MOST_CHARTS;
  const more = rest > 0 && `${plural(rest, "more chart")}: choose less above. `;
  return [
    keyOf(some),
    el("p", { class: "note" }, note, more),
    el("div", { class: "charts" }, ...pictures),
  ];
}

/** Curves of rates over the size or the number of threads. */
function curvesOver(across, scale) {
  return (shown) => {
    if (new Set(shown.rows.map((row) => row[across])).size < 2) return null;
    const charts = [...grouped(shown, across)].filter(
      ([, rows]) => new Set(rows.map((row) => row[across])).size > 1,
    );
    if (!charts.length) return null;
    return () => {
      const { some, note } = drawn(shown);
      const y = { scale: "log", label: "operations a second", show: quantity };
      const of = ([title, rows]) => ({
        title,
        x: scale,
        y,
        series: some.map((column) => curveOf(column, rows, across)),
      });
      return figures(charts.map(of), some, `${note}Bars are intervals, or ranges of few trials.`);
    };
  };
}

function curveOf(column, rows, across) {
  const engine = DATA.engines[column.engine];
  const points = [];
  for (const row of rows) {
    const cell = row.cells.get(column.engine);
    if (!isFigure(cell?.ns) || !(row[across] > 0)) continue;
    points.push({ x: row[across], y: cell.phase.rate, ...ends(cell.phase.spread) });
  }
  return { engine, label: engine.name, points };
}

/** The ends of a spread, where there are two. */
const ends = ([low, high] = []) => (low > 0 && low < high ? { low, high } : {});

/** What each cell of some rows has, by the title of its chart. */
function collected(shown, of) {
  const groups = new Map();
  for (const row of shown.rows) {
    const rest = conditions(shown, row);
    for (const column of shown.columns.ranked) {
      for (const { title, value } of of(row.cells.get(column.engine)?.phase)) {
        const whole = [title, ...rest].join(" · ");
        if (!groups.has(whole)) groups.set(whole, []);
        groups.get(whole).push({ column, value });
      }
    }
  }
  return groups;
}

/** A line for each engine that is drawn. */
function seriesOf(all, some, points) {
  const own = all.filter(({ column }) => some.includes(column));
  return own.map(({ column, value }) => {
    const engine = DATA.engines[column.engine];
    return { engine, label: engine.name, points: points(value) };
  });
}

const hasPhase = (shown, is) => shown.lines.some((line) => line.phases.some(is));

function latencies(shown) {
  if (!hasPhase(shown, (phase) => phase.latencies?.length)) return null;
  const of = (phase) =>
    (phase?.latencies ?? []).map((value) => ({ title: value.operation, value }));
  return () => {
    const groups = collected(shown, of);
    const { some, note } = drawn(shown);
    const x = { scale: "nines", label: "of the operations took at most this", show: percent };
    const y = { scale: "log", label: "time", show: duration };
    const points = (latency) =>
      latency.points
        .filter(([, ns]) => ns > 0)
        .map(([share, ns, ...range]) => ({ x: share, y: ns, ...ends(range) }));
    const charts = [...groups].map(([title, all]) => ({
      title: `latency of ${title}`,
      x,
      y,
      series: seriesOf(all, some, points),
    }));
    const text = `${note}Medians over trials, with their range.`;
    return [...figures(charts, some, text), percentileTable(groups)];
  };
}

function percentileTable(groups) {
  const found = [...groups].flatMap(([title, all]) => all.map((one) => ({ title, ...one })));
  const has = new Set(found.flatMap(({ value }) => value.points.map(([share]) => share)));
  const shares = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999].filter((share) => has.has(share));
  const heads = ["operation", "engine", "count", ...shares.map(percent), "longest"];
  const rows = found.map(({ title, column, value }) => {
    const at = new Map(value.points.map(([share, ns]) => [share, ns]));
    const times = shares.map((share) => duration(at.get(share)));
    const count = value.count.toLocaleString("en");
    return [title, DATA.engines[column.engine].name, count, ...times, duration(value.max_ns)];
  });
  return plainTable("Latencies", heads, rows, 2);
}

/** Operations and the 99th percentile over time. */
function overTime(shown) {
  if (!hasPhase(shown, (phase) => phase.timeline)) return null;
  return () => {
    const { some, note } = drawn(shown);
    const x = { scale: "linear", label: "seconds since the start", show: quantity };
    const rates = { scale: "log", label: "operations a second", show: quantity };
    const p99 = { scale: "log", label: "time", show: (us) => duration(us * 1000) };
    const points = (all) => all.filter(([, y]) => y > 0).map(([at, y]) => ({ x: at, y }));
    const of = (phase) => (phase?.timeline ? [{ title: phase.name, value: phase.timeline }] : []);
    const charts = [...collected(shown, of)].flatMap(([title, all]) => [
      {
        title: `${title} over time`,
        x,
        y: rates,
        series: seriesOf(all, some, (timeline) => points(timeline.rates)),
      },
      {
        title: `99 % of ${title} took at most this, over time`,
        x,
        y: p99,
        series: seriesOf(all, some, (timeline) => points(timeline.p99_us)),
      },
    ]);
    const aged = (value) => (phase) =>
      phase?.aged?.[value].length ? [{ title: phase.name, value: phase.aged[value] }] : [];
    const size = { scale: "linear", label: "", show: bytes };
    const whole = (value, title) =>
      [...collected(shown, aged(value))].map(([of, all]) => ({
        title: `${title} in ${of}, over time`,
        x,
        y: size,
        series: seriesOf(all, some, points),
      }));
    charts.push(...whole("disk", "space on disk"), ...whole("memory", "memory"));
    return figures(charts, some, `${note}Of the first trial.`);
  };
}

/** The charts that suites publish, of the runs in view. */
function published(shown) {
  const runs = new Set(shown.lines.map((line) => line.run));
  const charts = DATA.charts.filter((one) => runs.has(one.run));
  if (!charts.length) return null;
  return () => {
    const pictures = charts.slice(0, MOST_CHARTS).map(publishedChart).filter(Boolean);
    return [el("div", { class: "charts" }, ...pictures)];
  };
}

function publishedChart(published) {
  const { title, x_label, y_label, is_log_x, is_log_y, lines } = published;
  const axis = (isLog, label) => ({ scale: isLog ? "log" : "linear", label, show: quantity });
  const canStand = ([x, y]) => (!is_log_x || x > 0) && (!is_log_y || y > 0);
  const series = lines.map(({ label, points }, at) => ({
    engine: DATA.engines.find((engine) => engine.name === label) ?? lookOf(at),
    label,
    points: points.filter(canStand).map(([x, y]) => ({ x, y })),
  }));
  const axes = { x: axis(is_log_x, x_label), y: axis(is_log_y, y_label) };
  const figure = chart({ title, ...axes, series });
  const marks = series.map((one) => el("li", {}, swatchOf(one.engine), name(one.label)));
  figure?.append(el("ul", { class: "key", "aria-label": "Lines" }, ...marks));
  return figure;
}

/** The look of a line that is no engine. */
const lookOf = (at) => ({ colour: at % 8, mark: Math.floor(at / 8) });
