// Tables of Lode in programs that know nothing of it: the sqlite3 shell, apsw, and Datasette in a browser.
//
// EXTENSION is the built extension, LODE the built command line, and PYTHON a Python that has what
// requirements.txt says.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const { EXTENSION, LODE, PYTHON } = process.env;
for (const [name, path] of Object.entries({ EXTENSION, LODE, PYTHON })) {
  assert(path && existsSync(path), `${name} names no file`);
}
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const here = dirname(fileURLToPath(import.meta.url));

/** How long a busy machine is waited for. */
const PATIENCE_MS = 300_000;

const folder = mkdtempSync(join(tmpdir(), "lode-sqlite-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Runs a program to its end, and returns what it prints. */
function run(program, args, input = "") {
  return execFileSync(program, args, { cwd: folder, encoding: "utf8", input, stdio: "pipe" });
}

/** What the sqlite3 shell says, with the extension. */
function shell(args, ...lines) {
  const load = `.load ${EXTENSION.replace(/\.so$/, "")}`;
  return run("sqlite3", args, [load, ...lines, ""].join("\n"));
}

const MAKE = [
  "CREATE TABLE city (country TEXT(2), name VARTEXT(40), people U64, PRIMARY KEY (country, name));",
  "INSERT INTO city VALUES ('CH', 'Bern', 134591), ('CH', 'Thun', 43743), ('FR', 'Évian', 9029);",
  "CREATE TABLE visit (id U32 PRIMARY KEY, city VARTEXT(40) NOT NULL, note VARTEXT(99)) USING HASH;",
  "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500)",
  "INSERT INTO visit SELECT i, iif(i % 3, 'Thun', 'Bern'), iif(i % 2, NULL, '<b>' || i) FROM n;",
  "",
].join("\n");

test("the sqlite3 shell loads the extension and reads and writes", () => {
  run(LODE, ["sql", "map", "--create"], MAKE);
  const said = shell(
    [],
    "SELECT lode_attach('map');",
    "SELECT * FROM city WHERE country = 'CH' ORDER BY name DESC;",
    "BEGIN; DELETE FROM visit; ROLLBACK;",
    "UPDATE city SET people = people + 1 WHERE name = 'Thun';",
    "SELECT name, count(*) FROM city JOIN visit ON visit.city = city.name GROUP BY name;",
    "EXPLAIN QUERY PLAN SELECT people FROM city WHERE country = 'CH' AND name > 'C';",
  );
  assert.equal(
    said.replace(/INDEX \d+:/, "INDEX "),
    [
      "2",
      "CH|Thun|43743",
      "CH|Bern|134591",
      "Bern|166",
      "Thun|334",
      "QUERY PLAN",
      "`--SCAN city VIRTUAL TABLE INDEX key (country=? AND name>?)",
      "",
    ].join("\n"),
  );
  // What the shell wrote, the engine's own program finds, and all is well.
  assert.match(run(LODE, ["check", "map"]), /city: tree, 3 records\n(.*\n)*no faults found\n$/);
  const people = ["sql", "map", "SELECT people FROM city WHERE name = 'Thun'", "--format", "csv"];
  assert.equal(run(LODE, people), "people\n43744\n");
});

test("the sqlite3 shell says what is wrong in a line and ends with a status", () => {
  const refused = (...lines) => {
    try {
      shell(["-bail"], ...lines);
    } catch (error) {
      return [error.status, error.stderr.trim()];
    }
    assert.fail(`${lines} were to be refused`);
  };
  const [status, text] = refused("SELECT lode_attach('nowhere');");
  assert.equal(status, 1);
  assert.match(text, /^Runtime error near line 2: nowhere: No such file or directory/);
  const attach = "SELECT lode_attach('map');";
  assert.match(refused(attach, "SELECT * FROM town;")[1], /no such table: town/);
  const [, unique] = refused(attach, "INSERT INTO city VALUES ('CH', 'Bern', 1);");
  assert.match(unique, /^Runtime error near line 3: UNIQUE constraint failed: city.country, city.name/);
});

test("apsw reads, writes and sees conflicts", () => {
  const said = run(PYTHON, [join(here, "apsw_session.py"), EXTENSION, join(folder, "apsw")]);
  assert.match(said, /^apsw .*: as it should be\n$/);
});

/** A port of the loopback interface that is free. */
async function freePort() {
  const server = createServer();
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Waits until a server answers, or has ended. */
async function answers(url, server) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    assert.equal(server.exitCode, null, `the server ended: ${server.said}`);
    try {
      return (await fetch(url)).status;
    } catch {
      await new Promise((later) => setTimeout(later, 100));
    }
  }
  assert.fail(`${url} does not answer`);
}

test("Datasette shows a table and filters it, in a browser", { timeout: PATIENCE_MS }, async () => {
  // Datasette opens a file of SQLite for reading only, in which the virtual tables are.
  shell(
    ["atlas.db"],
    "CREATE VIRTUAL TABLE city USING lode('map', 'city');",
    "CREATE VIRTUAL TABLE visit USING lode('map', 'visit');",
  );
  const port = await freePort();
  const server = spawn(
    PYTHON,
    [
      ...["-m", "datasette", "serve", "atlas.db", "--load-extension", EXTENSION],
      ...["-h", "127.0.0.1", "-p", String(port)],
    ],
    { cwd: folder, stdio: ["ignore", "pipe", "pipe"] },
  );
  server.said = "";
  server.stderr.on("data", (text) => (server.said += text));
  server.stdout.resume();
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  try {
    const base = `http://127.0.0.1:${port}`;
    assert.equal(await answers(`${base}/atlas`, server), 200);
    const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
    page.setDefaultTimeout(PATIENCE_MS);
    const cells = () =>
      page.$$eval("table.rows-and-columns tbody tr", (rows) =>
        rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()).join("|")),
      );

    await page.goto(`${base}/atlas/city`);
    assert.deepEqual(await cells(), [
      "CH,Bern|CH|Bern|134591",
      "CH,Thun|CH|Thun|43744",
      "FR,Évian|FR|Évian|9029",
    ]);
    // The reader chooses a column, an operation and a value.
    await page.selectOption("select[name=_filter_column]", "people");
    await page.selectOption("select[name=_filter_op]", "gt");
    await page.fill("input[name=_filter_value]", "40000");
    await Promise.all([page.waitForNavigation(), page.click("input[type=submit][value=Apply]")]);
    assert.deepEqual(await cells(), ["CH,Bern|CH|Bern|134591", "CH,Thun|CH|Thun|43744"]);
    if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT });

    // The page of one record, by its key.
    await page.click("table.rows-and-columns tbody a");
    assert.match(await page.textContent("table.rows-and-columns"), /134591/);
    // A hashed table: Datasette pages by its key, and shows what looks like HTML as text.
    await page.goto(`${base}/atlas/visit?city=Bern&_sort_desc=id&_size=3`);
    assert.deepEqual(await cells(), [
      "498|Bern|<b>498",
      "495|Bern|",
      "492|Bern|<b>492",
    ]);
    await Promise.all([page.waitForNavigation(), page.click("a:text('Next page')")]);
    assert.equal((await cells())[0], "489|Bern|");
    const sql = "SELECT city, count(*) AS n FROM visit GROUP BY city ORDER BY city";
    const answer = await fetch(`${base}/atlas.json?sql=${encodeURIComponent(sql)}&_shape=array`);
    assert.deepEqual(await answer.json(), [
      { city: "Bern", n: 166 },
      { city: "Thun", n: 334 },
    ]);
  } finally {
    await browser.close();
    if (server.exitCode === null) {
      const ended = new Promise((done) => server.once("exit", done));
      server.kill();
      await ended;
    }
  }
});
