// Numbers as people read them: three digits and a unit.

function scaled(value, step, units) {
  let unit = 0;
  // From 999.5 on, three digits would round to the next unit's one.
  while (Math.abs(value) >= step - 0.5 && unit + 1 < units.length) {
    value /= step;
    unit += 1;
  }
  if (!(Math.abs(value) < 1e6)) return value.toExponential(2) + units[unit];
  const digits =
    value >= 99.95 || (Number.isInteger(value) && unit === 0) ? 0 : value >= 9.995 ? 1 : 2;
  return value.toFixed(digits) + units[unit];
}

const isFigure = (value) => typeof value === "number" && Number.isFinite(value);
const orDash = (show) => (value) => (isFigure(value) ? show(value) : "–");

const quantity = orDash((value) => scaled(value, 1000, ["", " k", " M", " G", " T"]));
const bytes = orDash((value) => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]));
const duration = orDash((value) => scaled(value, 1000, [" ns", " µs", " ms", " s"]));
/** How many times: `1.0×`, `23×`, `1,236×`; far below 1 a fraction, `1/420`. */
const times = orDash((value) => {
  if (value >= 1e6) return value.toExponential(1) + "×";
  if (value >= 9.95) return Math.round(value).toLocaleString("en") + "×";
  if (value >= 0.095) return (value < 0.995 ? value.toFixed(2) : value.toFixed(1)) + "×";
  return value > 0 ? `1/${Math.round(1 / value).toLocaleString("en")}` : "0×";
});

/** A speed-up: `0.70×`, `1.86×`, `12.3×`. */
const factors = orDash((value) => value.toFixed(value >= 9.995 ? 1 : 2) + "×");

/** A number of rows as the command line takes it: `100k`, `10m`. */
function rowCount(rows) {
  if (rows >= 1e6 && rows % 1e6 === 0) return rows / 1e6 + "m";
  return rows >= 1000 && rows % 1000 === 0 ? rows / 1000 + "k" : String(rows);
}

const plural = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
