// Charts, drawn when they are asked for.

/** More engines than that cannot be told apart. */
const MOST_DRAWN = 8;
const SIZE = { width: 460, height: 300, left: 62, right: 14, top: 12, bottom: 44 };

const isDark = () =>
  matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
const colourOf = (engine) => DATA.palette[isDark() ? 1 : 0][engine.colour % DATA.palette[0].length];
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

/** The mark of an engine around a point. */
function markOf(engine, x, y, size) {
  const colour = colourOf(engine);
  const polygon = (points) =>
    svg("polygon", {
      points: points.map(([a, b]) => `${x + a * size},${y + b * size}`).join(" "),
      fill: colour,
    });
  switch (engine.mark % 4) {
    case 0:
      return svg("circle", { cx: x, cy: y, r: size, fill: colour });
    case 1:
      return polygon([
        [-0.9, -0.9],
        [0.9, -0.9],
        [0.9, 0.9],
        [-0.9, 0.9],
      ]);
    case 2:
      return polygon([
        [0, -1.2],
        [1.1, 0.9],
        [-1.1, 0.9],
      ]);
    default:
      return polygon([
        [0, -1.3],
        [1.3, 0],
        [0, 1.3],
        [-1.3, 0],
      ]);
  }
}

/** A scale by factors, with round ticks. */
function logScale(values, from, to) {
  const [least, most] = bounds(values);
  const [low, high] = least === most ? [least / 2, most * 2] : [least, most];
  const at = (value) => from + ((to - from) * Math.log(value / low)) / Math.log(high / low);
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    ticks.push(...[1, 2, 5].map((digit) => digit * 10 ** power));
  }
  const inside = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  const powers = inside.filter((tick) => Math.abs(Math.log10(tick) % 1) < 1e-9);
  return { at, ticks: powers.length >= 3 ? thin(powers, 7) : inside };
}

function linearScale(values, from, to) {
  const high = Math.max(bounds(values)[1], Number.MIN_VALUE);
  const step = [1, 2, 5, 10]
    .map((digit) => digit * 10 ** Math.floor(Math.log10(high / 4)))
    .find((one) => high / one <= 6);
  const ticks = [];
  for (let tick = 0; tick <= high * 1.001 && ticks.length < 12; tick += step || high)
    ticks.push(tick);
  return { at: (value) => from + ((to - from) * value) / high, ticks };
}

/** Exactly these values are labelled. */
function valueScale(values, from, to) {
  const scale = logScale(values, from, to);
  return {
    at: scale.at,
    ticks: thin(
      distinct(values).sort((a, b) => a - b),
      8,
    ),
  };
}

/** Shares by nines: as far from 90 % to 99 % as from there to 99.9 %. */
function nineScale(values, from, to) {
  const nines = (share) => -Math.log10(1 - share);
  const [low, high] = bounds(values.map(nines));
  const at = (share) => from + ((to - from) * (nines(share) - low)) / (high - low || 1);
  const ticks = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];
  return { at, ticks: ticks.filter((share) => values.includes(share)) };
}

const bounds = (values) =>
  values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  );
const thin = (ticks, most) => ticks.filter((_, at) => at % Math.ceil(ticks.length / most) === 0);

/** A tick is a round number: `1 M` rather than `1.00 M`. */
const round = (text) => text.replace(/^(\d+)\.0+(?=\D|$)/, "$1");
const percent = (share) => `${Number((share * 100).toFixed(6))} %`;
const SCALES = { log: logScale, linear: linearScale, values: valueScale, nines: nineScale };

/**
 * A chart of lines: `series` have an `engine` (how it looks) and `points` with `x`, `y` and, where
 * there is an interval, `low` and `high`.
 */
function chart({ title, x, y, series }) {
  const points = series.flatMap((one) => one.points);
  const heights = points.flatMap((point) => [point.y, point.low, point.high]).filter(isFigure);
  if (!heights.length) return null;
  const { width, height, left, right, top, bottom } = SIZE;
  const across = SCALES[x.scale](
    points.map((point) => point.x),
    left + 10,
    width - right - 10,
  );
  const upward = SCALES[y.scale](heights, height - bottom, top + 6);
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `${title}, ${y.label} by ${x.label}`,
  });
  for (const tick of upward.ticks) {
    const at = upward.at(tick);
    picture.append(
      svg("line", { class: "grid", x1: left, x2: width - right, y1: at, y2: at }),
      svg("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, round(y.show(tick))),
    );
  }
  for (const tick of across.ticks) {
    const at = across.at(tick);
    picture.append(
      svg("line", { class: "grid", x1: at, x2: at, y1: top, y2: height - bottom }),
      svg("text", { x: at, y: height - bottom + 16, "text-anchor": "middle" }, round(x.show(tick))),
    );
  }
  const middle = (left + width - right) / 2;
  picture.append(
    svg("text", { class: "axis", x: middle, y: height - 8, "text-anchor": "middle" }, x.label),
  );
  const upwardLabel = {
    class: "axis",
    x: 12,
    y: (top + height - bottom) / 2,
    "text-anchor": "middle",
  };
  upwardLabel.transform = `rotate(-90 ${upwardLabel.x} ${upwardLabel.y})`;
  picture.append(svg("text", upwardLabel, y.label));
  for (const one of series) picture.append(lineOf(one, across, upward, { x, y }));
  return el("figure", {}, el("figcaption", {}, title), picture);
}

function lineOf({ engine, label, points }, across, upward, { x, y }) {
  const colour = colourOf(engine);
  const sorted = [...points].sort((a, b) => a.x - b.x);
  const d = sorted
    .map((p, at) => `${at ? "L" : "M"}${across.at(p.x).toFixed(1)} ${upward.at(p.y).toFixed(1)}`)
    .join("");
  const group = svg("g", { class: "line" });
  const dash = DASHES[engine.mark % DASHES.length];
  group.append(svg("path", { d, stroke: colour, "stroke-dasharray": dash || undefined }));
  if (sorted.length > 60) return group;
  for (const point of sorted) {
    const [px, py] = [across.at(point.x), upward.at(point.y)];
    if (isFigure(point.low)) {
      const [low, high] = [upward.at(point.low), upward.at(point.high)];
      group.append(
        svg("path", {
          class: "interval",
          stroke: colour,
          d: `M${px} ${low}V${high}M${px - 4} ${low}h8M${px - 4} ${high}h8`,
        }),
      );
    }
    const mark = markOf(engine, px, py, 4);
    mark.append(svg("title", {}, `${label}: ${y.show(point.y)} at ${x.show(point.x)}`));
    group.append(mark);
  }
  return group;
}

/** Which lines are of which engine, for all charts of a section. */
function keyOf(columns) {
  const items = columns.map((column) =>
    el("li", {}, swatch(column.engine), name(DATA.engines[column.engine].name)),
  );
  return el("ul", { class: "key", "aria-label": "Engines" }, ...items);
}

/** The engines that charts draw, and what is said of the others. */
function drawn({ columns }) {
  const some = columns.ranked.slice(0, MOST_DRAWN);
  const rest = columns.ranked.length - some.length;
  const note =
    rest > 0
      ? `Drawn are the first ${MOST_DRAWN} of the ranking; choose others above (${rest} more). `
      : "";
  return { some, note };
}
