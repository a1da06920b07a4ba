// The page as its readers use it: chips, base, order, links, keys.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  address,
  chip,
  close,
  columns,
  endBrowser,
  measured,
  open,
  openSection,
  pageOf,
  rowHeads,
  startBrowser,
  texts,
  unfold,
} from "./support.js";

before(startBrowser);
after(endBrowser);

/** The median of a cell's rate, from the run file. */
function rateOf(run, engine, storage, rows, phase) {
  const middle = (values) => {
    const sorted = [...values].sort((a, b) => a - b);
    const half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  const trials = run.cells
    .filter(({ cell }) => cell.engine === engine && cell.storage === storage && cell.rows === rows)
    .map(({ measurement }) => measurement.phases.find((one) => one.name === phase))
    .map(({ rounds }) => middle(rounds.map((round) => (round.operations * 1e9) / round.time_ns)));
  return middle(trials);
}

/** The number that a text such as `1,236×` or `1/16×` says. */
function timesOf(text) {
  const [first, second] = text.replaceAll(",", "").split("/").map(parseFloat);
  return second ? first / second : first;
}

test("the first screen says what was measured, ranks the engines and shows each cell", async () => {
  const run = measured();
  const page = await open(pageOf([run]));
  const head = await page.locator("#head").innerText();
  for (const words of [
    "crossbench",
    "memory",
    "durability none",
    "2 trials",
    run.environment.cpu_model,
  ]) {
    assert(head.includes(words), `${words}: ${head}`);
  }
  assert.deepEqual((await texts(page, ".ranks .engine")).sort(), [
    "btreemap",
    "hashbrown",
    "lode",
    "sqlite",
  ]);
  assert.deepEqual(await texts(page, ".ranks .count"), Array(4).fill("8 cells"));
  assert.deepEqual(
    await columns(page),
    await texts(page, ".ranks .engine"),
    "columns are in that order",
  );
  const scores = (await texts(page, ".ranks .figure")).map(timesOf);
  assert.deepEqual(
    scores,
    [...scores].sort((a, b) => a - b),
  );
  assert.equal((await rowHeads(page)).length, 8);
  assert.equal(await page.locator("#matrix td.best").count(), 8, "one best a row");
  await close(page);
});

test("the ranking and the matrix are what the run file gives", async () => {
  const run = measured();
  const page = await open(`${pageOf([run])}#base=sqlite`);
  const [engines, phases] = [
    ["btreemap", "hashbrown", "lode", "sqlite"],
    ["insert", "query", "update", "delete"],
  ];
  const ns = (engine, rows, phase) => 1e9 / rateOf(run, engine, "memory", rows, phase);
  const cells = [500, 2000].flatMap((rows) => phases.map((phase) => [rows, phase]));
  for (const engine of engines) {
    const logs = cells.map(([rows, phase]) => {
      const best = Math.min(...engines.map((one) => ns(one, rows, phase)));
      return Math.log((10 + ns(engine, rows, phase)) / (10 + best));
    });
    const score = Math.exp(logs.reduce((a, b) => a + b) / logs.length);
    const line = page.locator(".ranks li", { hasText: engine });
    const shown = timesOf(await line.locator(".figure").innerText());
    assert(Math.abs(shown / score - 1) < 0.06, `${engine}: ${shown} is ${score}`);
  }
  const at = (await columns(page)).indexOf("lode");
  const cell = page
    .locator("#matrix tbody tr", { hasText: /^query 500/ })
    .locator("td")
    .nth(at);
  const ratio = ns("lode", 500, "query") / ns("sqlite", 500, "query");
  const shown = timesOf(await cell.innerText());
  assert(Math.abs(shown / ratio - 1) < 0.51, `${shown} is ${ratio}`);
  await close(page);
});

test("chips filter, and what is chosen stands in the address", async () => {
  const page = await open(pageOf([measured()]));
  assert(await chip(page, "rows", "2k").isHidden(), "behind a line that names it");
  assert.match(await page.locator(".fold summary").innerText(), /^Choose keys, rows, .* or engine/);
  await unfold(page);
  await chip(page, "storage", "ramdisk").click();
  assert.deepEqual((await columns(page)).sort(), ["lode", "sqlite"]);
  const missing = await page.locator(".missing").innerText();
  assert(missing.includes("2 engines without a figure here"), missing);
  await chip(page, "rows", "2k").click();
  await chip(page, "operation", "query").click();
  assert.deepEqual(await rowHeads(page), ["query"]);
  await chip(page, "operation", "update").click();
  assert.deepEqual(await rowHeads(page), ["query", "update"]);
  await chip(page, "engine", "lode").click();
  assert.deepEqual(await columns(page), ["lode"]);
  assert.match(await address(page), /#storage=ramdisk&rows=2000&operation=query,update&engine=lode$/);
  await chip(page, "engine", "all").click();
  assert.equal((await columns(page)).length, 2);
  await close(page);
});

test("a link with filters, base, order and an open section shows the same again", async () => {
  const url = pageOf([measured()]);
  const page = await open(url);
  await unfold(page);
  await chip(page, "rows", "500").click();
  await page.locator("#matrix thead button.engine", { hasText: "sqlite" }).click();
  await page.locator(".controls button", { hasText: "name" }).click();
  await openSection(page, "space");
  const shown = (one) => one.evaluate(() => document.querySelector("main").innerText);
  const again = await open(await address(page));
  assert.equal(await again.locator(".fold summary").innerText(), "Chosen: rows 500");
  await unfold(again);
  assert.equal(await shown(again), await shown(page));
  assert.equal(await again.locator("#matrix h2").innerText(), "Every cell, × the time of sqlite");
  assert(await again.locator("#space").evaluate((section) => section.open));
  await close(again);
  await close(page);
});

test("a link that names what is not there says so and shows the rest", async () => {
  const page = await open(`${pageOf([measured()])}#engine=lode,nosuch&base=other&bad=%E0%A4%A`);
  assert.deepEqual(await columns(page), ["lode"]);
  const said = await page.locator("#said").innerText();
  assert(said.includes("engine nosuch") && said.includes("engine other"), said);
  await close(page);
});

test("an engine that is chosen is the base, and again none is", async () => {
  const page = await open(pageOf([measured()]));
  const head = page.locator("#matrix thead button.engine", { hasText: "btreemap" });
  await head.click();
  assert.equal(await head.getAttribute("aria-pressed"), "true");
  assert.equal(await page.locator("#matrix td.base").count(), 8, "its own cells have figures");
  assert.match(await address(page), /base=btreemap/);
  await head.click();
  assert.equal(await page.locator("#matrix td.base").count(), 0);
  await close(page);
});

test("columns are sorted by rank, by name, or by one operation", async () => {
  const run = measured();
  const of = (engine) => run.cells.filter(({ cell }) => cell.engine === engine);
  for (const [ns, engine] of ["sqlite", "lode", "hashbrown", "btreemap"].entries()) {
    for (const { measurement } of of(engine)) {
      for (const phase of measurement.phases) {
        phase.rounds = [{ operations: 1000, time_ns: 100_000 * (ns + 1) }];
      }
    }
  }
  // Of this operation the third is the fastest.
  for (const { measurement } of of("hashbrown")) {
    const phase = measurement.phases.find(({ name }) => name === "delete");
    if (phase) phase.rounds[0].time_ns = 10_000;
  }
  const page = await open(pageOf([run], "sorted"));
  const byRank = await columns(page);
  assert.notDeepEqual(byRank, [...byRank].sort());
  await page.locator(".controls button", { hasText: "name" }).click();
  assert.deepEqual(await columns(page), [...byRank].sort());
  const row = page.locator("#matrix tbody tr", { hasText: /^delete 2k/ });
  await row.locator("th button").click();
  const shown = await row.locator("td").evaluateAll((cells) => cells.map((td) => td.cell.cell.ns));
  assert.deepEqual(
    shown,
    [...shown].sort((a, b) => a - b),
  );
  await page.locator(".controls button", { hasText: "ranking" }).click();
  assert.deepEqual(await columns(page), byRank);
  await close(page);
});

test("the keyboard reaches every cell, and each says its figure", async () => {
  const page = await open(pageOf([measured()]));
  const first = page.locator("#matrix [tabindex='0']");
  assert.equal(await first.count(), 1, "one stop for Tab");
  await first.focus();
  const detail = page.locator("#detail");
  assert.match(await detail.innerText(), /operations\/s/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  const focused = page.locator("#matrix td:focus");
  assert.equal(await focused.getAttribute("data-at"), "1,1");
  assert.equal(await focused.getAttribute("aria-describedby"), "detail");
  await page.keyboard.press("Escape");
  assert(await detail.isHidden());
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  assert.match(await address(page), /sort=/);
  await close(page);
});

test("a cell without a figure says why", async () => {
  const run = measured();
  const of = (engine) =>
    run.cells.filter(({ cell }) => cell.engine === engine && cell.storage === "memory");
  for (const cell of of("lode").filter(({ cell }) => cell.rows === 500)) {
    cell.status = { outcome: "wrong", reason: "row 7 is wrong" };
  }
  for (const cell of of("sqlite").filter(({ cell }) => cell.rows === 2000)) {
    cell.measurement.phases = cell.measurement.phases.filter((phase) => phase.name !== "update");
    cell.measurement.not_offered = [{ phase: "update", why: "it has no updates" }];
  }
  const page = await open(pageOf([run], "reasons"));
  const said = async (engine, head) => {
    const at = (await columns(page)).indexOf(engine);
    const cell = page.locator("#matrix tbody tr", { hasText: head }).locator("td").nth(at);
    await cell.hover();
    return [await cell.innerText(), await page.locator("#detail").innerText()];
  };
  const [word, why] = await said("lode", /^insert 500/);
  assert.equal(word, "wrong");
  assert(why.includes("row 7 is wrong"), why);
  const [dash, reason] = await said("sqlite", /^update 2k/);
  assert.equal(dash, "–");
  assert(reason.includes("it has no updates"), reason);
  assert.equal(
    await page.locator(".ranks li", { hasText: "lode" }).locator(".count").innerText(),
    "4 of 8 cells",
  );
  assert((await page.locator("#trust").innerText()).includes("speaks against"), "warned below");
  await close(page);
});

test("a figure that was disturbed is marked, and says by what", async () => {
  const run = measured();
  for (const { cell, measurement } of run.cells) {
    for (const round of measurement.phases.flatMap((phase) => phase.rounds)) {
      const lacked = cell.engine === "sqlite" && cell.storage === "memory";
      const waited_ns = lacked ? Math.floor(round.time_ns / 2) : 0;
      round.usage = { ...round.usage, wall_ns: round.time_ns, stolen_ns: 0, waited_ns };
    }
  }
  const page = await open(pageOf([run], "disturbed"));
  const at = (await columns(page)).indexOf("sqlite");
  const cells = page.locator("#matrix tbody tr");
  for (let row = 0; row < 8; row += 1) {
    const signs = await texts(cells.nth(row), "td");
    signs.forEach((text, x) => assert.equal(text.includes("!"), x === at, `${signs}`));
  }
  await cells.first().locator("td").nth(at).hover();
  const said = await page.locator("#detail").innerText();
  assert(said.includes("! disturbed") && said.includes("100 % of the time on the clock"), said);
  assert((await page.locator("#matrix .signs").innerText()).includes("! disturbed"));
  await close(page);
});

/** The data of a page. */
const dataOf = async (page) => JSON.parse(await page.locator("#data").textContent());

/** Adds a note of a driver to the cells of an engine. */
function note(run, engine, text) {
  const of = run.cells.filter(({ cell }) => cell.engine === engine && !cell.calibration);
  of.forEach(({ measurement }) => (measurement.notes = [text]));
}

/** Each mark of engines, planted: what the run file has, and what the page must show. */
const MARKS = {
  "⌂": { words: "the authors' own engine", engine: "lode", plant: () => {} },
  "▲": {
    words: "stronger than process: every commit syncs its data",
    plant: (run) => note(run, "sqlite", "stronger than process: every commit syncs its data"),
  },
  "▼": {
    words: "at none, its strongest level, which survives less",
    plant: (run) => run.cells.forEach(({ cell }) => {
      if (cell.engine === "sqlite" && cell.storage === "ramdisk") cell.durability = "none";
    }),
  },
  "†": {
    words: "sqlite at process: refuted",
    plant: (run) => run.cells.forEach((result) => {
      if (result.cell.engine === "sqlite") result.refuted = "sqlite at process: refuted";
    }),
  },
  "○": {
    words: "blind writes: they do not look",
    plant: (run) => note(run, "sqlite", "blind writes: they do not look"),
  },
  "◇": {
    words: "with page_size=8192, not its default",
    plant: (run) => run.cells.forEach(({ cell }) => {
      if (cell.engine === "sqlite") cell.engine_options.page_size = "8192";
    }),
  },
  "§": { words: "something else", plant: (run) => note(run, "sqlite", "something else") },
};

test("the ranking, the matrix and the legend show every mark of an engine", async () => {
  for (const [sign, { words, engine = "sqlite", plant }] of Object.entries(MARKS)) {
    const run = measured();
    for (const { measurement } of run.cells) measurement.notes = [];
    plant(run);
    const page = await open(pageOf([run], "marks") + "#storage=ramdisk");
    const listed = (await dataOf(page)).marks.filter((mark) => !mark.is_of_figures).length;
    assert.equal(listed, Object.keys(MARKS).length, "each mark of the list is planted here");
    const line = page.locator(".ranks li:not(.axis)", { hasText: engine });
    assert((await line.locator(".named").innerText()).includes(sign), sign);
    const at = (await columns(page)).findIndex((name) => name.split(/\s/)[0] === engine);
    const head = await page.locator("#matrix thead th").nth(at + 1).innerText();
    assert(head.includes(sign), `${sign}: ${head}`);
    const legend = await page.locator("#ranking .signs").innerText();
    assert(legend.includes(sign) && legend.includes(words), `${sign}: ${legend}`);
    const others = page.locator(".ranks li:not(.axis)", { hasNotText: engine });
    for (const other of await others.locator(".named").allInnerTexts())
      assert(!other.includes(sign), `${sign} at ${other}`);
    await close(page);
  }
});

test("a figure of fewer operations is marked", async () => {
  const run = measured();
  for (const { cell, measurement } of run.cells) {
    if (cell.engine !== "sqlite" || cell.storage !== "memory") continue;
    cell.options = { ...cell.options, update: 7 };
    const update = measurement.phases.find(({ name }) => name === "update");
    update.rounds.forEach((round) => (round.operations = 7));
  }
  const page = await open(pageOf([run], "fewer"));
  const at = (await columns(page)).indexOf("sqlite");
  const row = page.locator("#matrix tbody tr", { hasText: /^update 500/ });
  const signs = await texts(row, "td");
  signs.forEach((text, x) => assert.equal(text.includes("‡"), x === at, `${signs}`));
  const legend = await page.locator("#matrix .signs").innerText();
  assert(legend.includes("‡ of fewer operations than the others"), legend);
  await close(page);
});

test("what most figures of a row have stands at its head, and nowhere else", async () => {
  const run = measured();
  const lacking = ["sqlite", "lode", "btreemap"];
  for (const { cell, measurement } of run.cells) {
    for (const round of measurement.phases.flatMap((phase) => phase.rounds)) {
      const waited_ns = lacking.includes(cell.engine) ? Math.floor(round.time_ns / 2) : 0;
      const idle = { cpu_ns: 0, stolen_ns: 0 };
      round.usage = { ...round.usage, ...idle, wall_ns: round.time_ns, waited_ns };
    }
  }
  const page = await open(pageOf([run], "common"));
  for (const head of await rowHeads(page)) assert(head.endsWith("!"), head);
  for (const cell of await texts(page, "#matrix td")) assert(!cell.includes("!"), cell);
  const at = (await columns(page)).indexOf("lode");
  await page.locator("#matrix tbody tr").first().locator("td").nth(at).hover();
  assert((await page.locator("#detail").innerText()).includes("! disturbed"), "it still says so");
  assert((await page.locator("#matrix .signs").innerText()).includes("At the head of a row"));
  await close(page);
});

test("the ranking says once how far crash tests speak for the levels", async () => {
  const run = measured();
  for (const result of run.cells.filter(({ cell }) => cell.storage === "ramdisk")) {
    if (result.cell.engine === "sqlite") {
      const most = result.cell.rows > 1000 ? 0.1173 : 0.0099;
      result.held = { words: `none of many, ${most}`, most };
    }
  }
  const page = await open(pageOf([run], "crashes") + "#storage=ramdisk");
  const held = await page.locator(".held").innerText();
  assert(held.includes("at most 12 % of crashes can"), held);
  assert(held.includes("No crash test has seen lode."), held);
  const tables = (await texts(page, "#matrix, .ranks")).join();
  assert(!tables.includes("≤ 12"), tables);
  await close(page);
});

test("the page opens with what it is and where the authors' own engine loses", async () => {
  const run = measured();
  const ns = { lode: 300, sqlite: 600, btreemap: 200, hashbrown: 400 };
  for (const { cell, measurement } of run.cells) {
    for (const phase of measurement.phases) {
      const isBest = cell.engine === "lode" && phase.name === "query";
      phase.rounds = [{ operations: 1000, time_ns: 1000 * (isBest ? 10 : ns[cell.engine] ?? 1) }];
    }
  }
  const page = await open(pageOf([run], "verdict"));
  const [lead, verdict] = await texts(page, "#head .lead");
  assert.match(lead, /^How fast 4 embedded databases and maps are in memory: each inserts, looks up/);
  assert.match(lead, /Durability none: nothing has to survive a crash\./);
  assert.match(
    verdict,
    /^lode, the authors' own engine, is slower than another in 6 of 8 cells: .*\(btreemap 1\.5×\)/,
  );
  assert.match(verdict, /and 2 more\. Over all 8 cells lode leads; next is btreemap at /);
  await page.locator("button", { hasText: "hide lode" }).click();
  assert(!(await columns(page)).includes("lode"));
  const without = (await texts(page, "#head .lead"))[1];
  assert.match(without, /^Over all 8 cells btreemap leads; next is hashbrown at 2\.0× its time/);
  assert.match(await address(page), /own=hidden/);
  const again = await open(await address(page));
  assert.deepEqual(await columns(again), await columns(page));
  await close(again);
  await close(page);
});

test("several threads take turns in no figure: each operation's time is a thread's", async () => {
  const run = measured();
  for (const { cell, measurement } of run.cells) {
    if (cell.calibration) continue;
    cell.threads = 4;
    for (const phase of measurement.phases) {
      phase.threads = 4;
      phase.rounds = [{ operations: 1_000_000, time_ns: 3_000_000_000 }];
    }
  }
  const page = await open(pageOf([run], "threads"));
  await page.locator("#matrix td").first().hover();
  const said = await page.locator("#detail .exact").innerText();
  assert.equal(said, "333 k operations/s · 12.0 µs each, on each of 4 threads at once");
  await close(page);
});

test("speed-up and efficiency are against the fewest threads of an engine", async () => {
  const run = measured();
  const cells = run.cells.filter(
    ({ cell }) => cell.engine === "lode" && cell.storage === "memory" && cell.rows === 500,
  );
  const by = (threads, ns) =>
    structuredClone(cells).map((one) => {
      Object.assign(one.cell, { threads, options: { ...one.cell.options, threads: [threads] } });
      for (const phase of one.measurement.phases) {
        phase.threads = threads;
        phase.rounds = [{ operations: 1_000_000, time_ns: ns * 1_000_000 }];
      }
      return one;
    });
  run.cells = [...by(4, 40), ...by(2, 50), ...by(1, 60)];
  run.planned_cells = run.cells.length;
  const page = await open(pageOf([run], "speed-up"));
  await openSection(page, "speedup");
  const lines = await texts(page, "#speedup tbody tr");
  assert.equal(lines.length, 8, "four operations, by two and four threads");
  const words = lines.slice(0, 2).map((line) => line.split(/\s+/).join(" "));
  assert.deepEqual(words, ["insert lode 2 : 1 1.20× – 60 %", "insert lode 4 : 1 1.50× – 38 %"]);
  await page.locator("#matrix tbody tr").nth(2).locator("td").hover();
  const said = await page.locator("#detail").innerText();
  assert.match(said, /1\.50× the rate of 1 thread, efficiency 38 %\n/);
  await close(page);
});

test("what a link asks for and the rest of it excludes is said, not dropped", async () => {
  const [run, other] = [measured(), measured()];
  other.environment.kernel = "another";
  other.cells = other.cells.filter(({ cell }) => ["lode", "hashbrown"].includes(cell.engine));
  const url = pageOf([run, other], "dropped");
  const machine = `machine=${encodeURIComponent(await machineOf(url, "another"))}`;
  const page = await open(`${url}#${machine}&engine=lode,sqlite&base=sqlite`);
  assert.deepEqual(await columns(page), ["lode"]);
  const said = await page.locator("#said").innerText();
  assert(said.includes("left out: engine sqlite, base sqlite"), said);
  await close(page);
  // Without a machine, the one that has what the link asks for is shown.
  const all = await open(`${url}#engine=lode,sqlite&base=sqlite`);
  assert.deepEqual((await columns(all)).sort(), ["lode", "sqlite"]);
  assert.equal(await all.locator("#said").innerText(), "");
  await close(all);
});

/** The name of the machine whose kernel has a name. */
async function machineOf(url, kernel) {
  const page = await open(url);
  const chips = page.locator(`[data-dimension="machine"] button[data-value$="${kernel}"]`);
  const found = await chips.getAttribute("data-value");
  await close(page);
  return found;
}

test("keys of both kinds of one engine are told apart in curves", async () => {
  const run = measured();
  const trees = structuredClone(run.cells.filter(({ cell }) => cell.engine === "lode"));
  for (const { cell } of trees) {
    cell.key_kind = "tree";
    cell.key_kind_named = true;
  }
  run.cells.push(...trees);
  const page = await open(pageOf([run], "kinds"));
  const { engines } = await dataOf(page);
  const looks = engines.map(({ name, id, colour, mark }) => {
    return { name, id, look: `${colour} ${mark}` };
  });
  const of = looks.filter(({ id }) => id === "lode");
  assert.deepEqual(of.map(({ name }) => name).sort(), ["lode hash", "lode tree"]);
  assert.equal(new Set(looks.map(({ look }) => look)).size, looks.length, JSON.stringify(looks));
  await close(page);
});

test("a sceptic's questions are answered", async () => {
  const run = measured();
  note(run, "sqlite", "stronger than none: every commit syncs its data");
  const page = await open(pageOf([run], "questions"));
  await openSection(page, "why", "#head button.ask");
  const said = await page.locator("#why").innerText();
  for (const words of [
    "lode is of the authors of this instrument",
    "sqlite (stronger than none: every commit syncs its data)",
    "Why does a hash race trees?",
    `What happens with more than ${run.environment.cpus} processor`,
  ])
    assert(said.includes(words), `${words}: ${said}`);
  await close(page);
});

test("an engine gains nothing by the cells that it lacks", async () => {
  // `part` is as slow as sqlite, and was only measured where both are fastest.
  const run = measured();
  run.cells = run.cells.filter(({ cell }) => cell.storage === "memory" && cell.engine !== "lode");
  const times = {
    btreemap: [100, 100, 100, 100],
    hashbrown: [200, 200, 200, 200],
    sqlite: [120, 9e4, 9e4, 9e4],
  };
  const of = (engine) =>
    run.cells.filter(({ cell }) => cell.engine === engine && !cell.calibration);
  for (const [engine, ns] of Object.entries(times)) {
    for (const { measurement } of of(engine)) {
      measurement.phases.forEach((phase, at) => {
        phase.rounds = [{ operations: 1000, time_ns: 1000 * ns[at] }];
      });
    }
  }
  const part = structuredClone(of("sqlite"));
  for (const result of part) {
    result.cell.engine = "part";
    result.measurement.phases.length = 1;
    result.measurement.phases[0].rounds[0].time_ns = 130_000;
  }
  run.cells.push(...part);
  const page = await open(pageOf([run], "lacking"));
  const order = await texts(page, ".ranks .engine");
  assert.deepEqual(order, ["btreemap", "hashbrown", "sqlite", "part"]);
  const line = page.locator(".ranks li.part");
  assert.equal(await line.locator(".count").innerText(), "2 of 8 cells");
  assert.equal(await line.locator(".figure").innerText(), "1.3×");
  await close(page);
});

test("charts are drawn when they are asked for", async () => {
  const page = await open(pageOf([measured()]));
  assert.equal(await page.locator("figure svg").count(), 0);
  await openSection(page, "size");
  assert.equal(await page.locator("#size figure").count(), 4);
  assert.equal(await page.locator("#size figure").first().locator(".line").count(), 4);
  await openSection(page, "latency");
  const labels = await texts(page, "#latency figure:first-of-type svg:first-of-type text");
  const shown = await page.locator("#latency figure").first().locator("text").allTextContents();
  for (const nine of ["90 %", "99 %", "99.9 %"])
    assert(shown.includes(nine), `${nine}: ${shown} ${labels}`);
  await openSection(page, "repeat");
  assert((await page.locator("#repeat pre").innerText()).includes("run crossbench"));
  await close(page);
});

test("two machines that differ in their kernels only have chips that say so", async () => {
  const [run, other] = [measured(), measured()];
  const kernels = ["a-kernel-with-a-long-name-6.18.44-657", "a-kernel-with-a-long-name-6.18.44-669"];
  [run, other].forEach((one, at) => (one.environment.kernel = kernels[at]));
  const page = await open(pageOf([run, other], "machines"));
  await unfold(page);
  const chips = page.locator('[data-dimension="machine"] button');
  assert.deepEqual((await chips.allInnerTexts()).sort(), kernels);
  for (const one of await chips.all()) {
    const isCut = await one.locator("bdi").evaluate((text) => text.scrollWidth > text.clientWidth);
    const isClipped = await one.evaluate((button) => button.scrollWidth > button.clientWidth);
    assert(!isCut && !isClipped, await one.innerText());
  }
  await chip(page, "machine", kernels[1]).click();
  const head = await page.locator("#head").innerText();
  assert(head.includes(kernels[1]) && !head.includes(kernels[0]), head);
  assert((await chips.first().getAttribute("title")).startsWith(run.environment.cpu_model));
  await close(page);
});

test("a conclusion stands before the figures, and goes without the authors' own engine", async () => {
  const run = measured();
  run.advice = {
    title: "<b>Documents</b>",
    rank: "throughput",
    phases: [],
    limits: {},
    weights: { memory: 0.125, disk: 0.004 },
    facts: [{ engine: "sqlite", licence: "public domain", languages: ["c"] }],
    left_out: [{ engine: "far", why: "is for rust, not for c" }],
  };
  const page = await open(pageOf([run], "advice"));
  const advice = page.locator("#advice");
  const ranked = () => advice.locator("tbody tr").allInnerTexts();
  // The maps have no RAM disk, on which the run was made too.
  assert.equal((await ranked()).length, 2, `${await ranked()}`);
  const text = await advice.innerText();
  for (const words of [
    "Advice for <b>Documents</b>",
    "is by the authors",
    "far: is for rust",
    "hashbrown: it has no storage mode ramdisk",
  ]) {
    assert(text.includes(words), `${words}: ${text}`);
  }
  await advice.locator("summary").click();
  assert((await advice.innerText()).includes("public domain"));
  await page.locator('[data-chip="own"]').click();
  assert.equal((await ranked()).length, 1, `${await ranked()}`);
  assert(!(await advice.innerText()).includes("lode"));
  await close(page);
});
