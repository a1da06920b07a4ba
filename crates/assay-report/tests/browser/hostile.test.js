// Run files that mean harm, or are only very many.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import {
  address,
  assay,
  chip,
  close,
  columns,
  endBrowser,
  folder,
  measured,
  open,
  pageOf,
  refusal,
  startBrowser,
  unfold,
} from "./support.js";

before(startBrowser);
after(endBrowser);

const NAMES = [
  "<script>document.title = 'taken'</script>",
  "</script><img src=x onerror=\"document.title = 'taken'\">",
  "\u202eesrever \u05d0\u05d1\u05d2 \u0627\u0644",
  "\u001b[31mred\u001b[2J",
  "__proto__",
  "a,b&c=d#e%f",
  "x".repeat(100_000),
];

test("names are text and nothing else", async () => {
  const run = measured();
  const some = run.cells.filter(
    ({ cell }) => cell.storage === "memory" && cell.engine === "btreemap",
  );
  run.cells = NAMES.flatMap((name) => {
    const copies = structuredClone(some);
    for (const { cell, measurement } of copies) {
      cell.engine = name;
      cell.variant = name;
      measurement.settings = [name];
      measurement.notes = [name];
      measurement.engine_version = name;
      for (const phase of measurement.phases) phase.name = `${phase.name} ${name}`.slice(0, 5000);
    }
    return copies;
  });
  run.command = NAMES;
  const page = await open(
    pageOf([run], "names") + "#open=size,latency,space,trust,settings,repeat",
  );
  assert(!(await page.title()).includes("taken"));
  assert.equal(await page.locator("main script, main img").count(), 0);
  const shown = await columns(page);
  assert.equal(shown.length, NAMES.length);
  assert(shown.includes(NAMES[0]), "it is shown as it is");
  assert(!shown.join().includes("\u202e") && !shown.join().includes("\u001b"), "nothing hidden");
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert(wider <= 0, `the page is ${wider} pixels wider than the screen`);
  // A link with such a name leads to it again.
  await unfold(page);
  await page.locator("[data-dimension='engine'] button", { hasText: "a,b&c" }).click();
  const again = await open(await address(page));
  assert.deepEqual(await columns(again), ["a,b&c=d#e%f"]);
  await close(again);
  await close(page);
});

test("numbers at the ends of what a number can be are shown", async () => {
  const run = measured();
  const of = (engine) =>
    run.cells.filter(({ cell }) => cell.engine === engine && cell.storage === "memory");
  for (const { cell, measurement } of of("btreemap")) {
    cell.rows = Number.MAX_SAFE_INTEGER;
    for (const phase of measurement.phases) {
      phase.rounds = [{ operations: 1, time_ns: Number.MAX_SAFE_INTEGER }];
      for (const latency of phase.latencies ?? []) latency.mean_ns = 1e308;
    }
  }
  for (const { measurement } of of("hashbrown")) {
    for (const phase of measurement.phases)
      phase.rounds = [{ operations: Number.MAX_SAFE_INTEGER, time_ns: 1 }];
    measurement.resources.peak_rss_bytes = Number.MAX_SAFE_INTEGER;
  }
  run.environment.load_1min = 1e38;
  const page = await open(
    pageOf([run], "numbers") + "#open=size,latency,space,trust,settings,repeat",
  );
  const text = await page.locator("body").innerText();
  assert.deepEqual(text.match(/.{0,40}(NaN|Infinity|undefined).{0,40}/g), null);
  await close(page);
});

test("what is no run file of this Assay is refused in one line", () => {
  const whole = JSON.stringify(measured());
  const cases = {
    "nan.json": [whole.replace(/"time_ns":\d+/, '"time_ns":NaN'), "nan.json"],
    "huge.json": [whole.replace(/"time_ns":\d+/, '"time_ns":1e308'), "huge.json"],
    "old.json": [whole.replace(/"schema_version":\d+/, '"schema_version":1'), "schema version 1"],
    "new.json": [whole.replace(/"schema_version":\d+/, '"schema_version":99'), "schema version 99"],
    "cut.json": [whole.slice(0, whole.length / 2), "cut.json"],
  };
  for (const [name, [content, words]] of Object.entries(cases)) {
    writeFileSync(join(folder, name), content);
    const { status, text } = refusal("report", name, "-o", "refused.html");
    assert.equal(status, 3, text);
    assert(text.includes(words) && text.trim().split("\n").length === 1, text);
  }
});

test("a suite that this Assay does not know is shown like others", async () => {
  const run = measured();
  for (const { cell } of run.cells) cell.suite = "suite of tomorrow";
  const page = await open(pageOf([measured(), run], "suites"));
  await chip(page, "suite", "suite of tomorrow").click();
  assert.equal(await page.locator("h1").innerText(), "suite of tomorrow");
  assert.equal((await columns(page)).length, 4);
  await close(page);
});

test("60 run files are one page, which is soon there", async () => {
  const engines = Array.from({ length: 12 }, (_, at) => `engine-${at}`);
  const some = measured().cells.filter(({ cell }) => cell.engine === "sqlite");
  const runs = Array.from({ length: 60 }, (_, day) => {
    const run = measured();
    run.created = new Date(Date.UTC(2026, 0, 1 + day)).toISOString();
    run.cells = engines.flatMap((engine) => {
      const copies = structuredClone(some);
      for (const { cell } of copies) cell.engine = engine;
      return copies;
    });
    return run;
  });
  const url = pageOf(runs, "sixty");
  const start = performance.now();
  const page = await open(url);
  console.log(
    `60 run files: ${Math.round(performance.now() - start)} ms until the matrix is there`,
  );
  assert.match(await page.locator("#head").innerText(), /60 runs/);
  assert.equal((await columns(page)).length, 12);
  await page.locator("#matrix td").first().hover();
  assert.match(await page.locator("#detail").innerText(), /newest of 60/);
  await close(page);
});

for (const [shape, change] of Object.entries({
  rows: (cell, at) => (cell.rows = at + 1),
  engines: (cell, at) => (cell.engine = `engine-${at}`),
  works: (cell, at) => (cell.variant = `work ${at}`),
})) {
  test(`60,000 cells that differ in ${shape} are a page`, async () => {
    const run = measured();
    const [one] = run.cells.filter(({ cell }) => cell.engine === "btreemap");
    one.measurement.phases.length = 1;
    one.measurement.phases[0].latencies = [];
    delete one.measurement.phases[0].timeline;
    run.cells = Array.from({ length: 60_000 }, (_, at) => {
      const copy = { ...one, cell: { ...one.cell, trial: 1 } };
      change(copy.cell, at);
      return copy;
    });
    const start = performance.now();
    const url = pageOf([run], shape);
    const made = performance.now();
    const page = await open(url);
    const times = [made - start, performance.now() - made].map(Math.round);
    console.log(`60,000 cells by ${shape}: made in ${times[0]} ms, opened in ${times[1]} ms`);
    assert((await page.locator("#matrix td").count()) <= 200);
    await close(page);
  });
}
