// A static site, opened from its files.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import {
  address,
  assay,
  close,
  endBrowser,
  folder,
  measured,
  open,
  startBrowser,
} from "./support.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PAGES = ["index.html", "durability.html", "suite-crossbench.html"];
const MAIN = "main table";

before(startBrowser);
after(endBrowser);

let made;

/** A site over a run and verdicts of which one is refuted: from a page to its address. */
function site() {
  if (!made) {
    const run = measured();
    const maps = run.cells.filter(({ cell }) => cell.engine === "hashbrown");
    maps.forEach(({ cell }) => (cell.engine = "a-map-with-a-rather-long-name"));
    writeFileSync(join(folder, "run.json"), JSON.stringify(run));
    const crash = ["-e", "sqlite,lmdb", "--crash", "process", "--rounds", "2", "--commits", "5"];
    assay("crash", ...crash, "--dir", "stores", "-o", "durability.json");
    const file = JSON.parse(readFileSync(join(folder, "durability.json"), "utf8"));
    const failure = { found: { lost: { commits: 3 } }, command: "assay crash -e sqlite --round 1" };
    const broken = file.verdicts.find(
      ({ engine, promise }) => engine === "sqlite" && promise !== "nothing",
    );
    broken.failures = [{ ...failure, image: "assay-runs/broken-stores/sqlite-1" }];
    writeFileSync(join(folder, "durability.json"), JSON.stringify(file));
    assay("site", "run.json", "durability.json", "-o", "site");
    made = join(folder, "site");
  }
  return (page) => pathToFileURL(join(made, page)).href;
}

const show = (page, { hash = "", ...options } = {}) =>
  open(site()(page) + hash, { ready: MAIN, ...options });

test("every link of every page leads to something that is there", async () => {
  for (const file of PAGES) {
    const page = await show(file, { hash: file.startsWith("suite-") ? "#open=repeat" : "" });
    const links = await page.locator("a").evaluateAll((all) => all.map((one) => one.href));
    const isRun = (link) => /\/runs\/(run|durability)\.json$/.test(link);
    assert(links.some(isRun), `${file}: ${links.join()}`);
    for (const link of links) {
      const { pathname, hash } = new URL(link);
      assert(existsSync(fileURLToPath(`file://${pathname}`)), `${file}: ${link}`);
      if (pathname.endsWith("durability.html") && hash) {
        assert.equal(await page.locator(hash).count(), 1, link);
      }
    }
    await close(page);
  }
});

test("a figure of the index leads to its suite, storage and level", async () => {
  const page = await show("index.html");
  const heads = await page.locator("thead").first().locator("th").allInnerTexts();
  assert.deepEqual(heads.slice(1).map((text) => text.split("\n").slice(0, 2)), [
    ["crossbench", "memory"],
    ["crossbench", "ramdisk"],
  ]);
  const sqlite = page.locator("tbody tr", { hasText: "sqlite" }).first();
  await sqlite.locator("td a").nth(1).click();
  await page.waitForSelector("#matrix h2");
  const facts = await page.locator("#head .facts").first().innerText();
  assert.match(facts, /^ramdisk · durability process/);
  assert.equal(await page.locator("nav a").count(), 3);
  await close(page);
});

test("engines stand in the order of the page of the suite", async () => {
  const page = await show("index.html");
  const rows = await page.locator("tbody").first().locator("tr").allInnerTexts();
  const table = rows.map((row) => row.split("\t"));
  const engines = (at) =>
    table
      .filter((row) => row[at].includes("×"))
      .map((row) => [parseFloat(row[at]), row[0].trim().split(/\s/)[0]])
      .sort(([a], [b]) => a - b);
  const ranked = engines(2);
  assert(ranked.length >= 2);
  await page.goto(site()("suite-crossbench.html") + "#storage=ramdisk");
  await page.waitForSelector(".ranks .figure");
  const names = await page.locator(".ranks .engine").allInnerTexts();
  const figures = await page.locator(".ranks .figure").allInnerTexts();
  assert.deepEqual(
    ranked.map(([, name]) => name),
    names.slice(0, ranked.length),
  );
  ranked.forEach(([score], at) =>
    assert(Math.abs(score - parseFloat(figures[at])) <= 0.05 * score + 0.05, `${score} ${figures}`),
  );
  await close(page);
});

test("the index says whose engine is the authors' own, and hides it", async () => {
  const page = await show("index.html");
  const of = (engine) => page.locator("tbody:visible").first().locator("tr", { hasText: engine });
  assert.equal(await of("lode").count(), 1);
  assert((await page.locator(".marks:visible").innerText()).includes("the authors' own engine"));
  assert.match(await page.locator(".verdict").innerText(), /^lode, the authors' own engine, is /);
  await page.locator("#hide-own").check();
  assert.equal(await of("lode").count(), 0);
  assert(await page.locator(".verdict").isHidden());
  const figures = await page.locator("tbody:visible").first().locator("td").allInnerTexts();
  assert(figures.some((text) => text.startsWith("1.0×")), "the others are compared anew");
  await close(page);
});

test("a broken promise stands first, with the commands that repeat and open it", async () => {
  const page = await show("durability.html");
  const broken = page.locator("td.broken").first();
  assert.match(await broken.innerText(), /^1 of 2\n/);
  const held = await page.locator("td.held").allInnerTexts();
  assert(held.length >= 2);
  held.forEach((text) => assert.match(text, /^0 of 2\nat most 78 %$/));
  await broken.locator("a").click();
  const finding = new URL(await address(page)).hash;
  assert.match(await page.locator(finding).innerText(), /^sqlite .* killed process$/);
  const commands = await page.locator("pre").allInnerTexts();
  assert.deepEqual(commands, [
    "assay crash -e sqlite --round 1",
    "assay crash --open assay-runs/broken-stores/sqlite-1",
  ]);
  await close(page);
});

for (const width of [390, 1200, 1600]) {
  test(`no page of a site is wider than ${width} pixels, and no name is broken`, async () => {
    for (const file of PAGES.slice(0, 2)) {
      const page = await show(file, { width, height: 844 });
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert(wider <= 0, `${file} is ${wider} pixels wider than the screen`);
      const heights = await page
        .locator("tbody tr:visible")
        .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
      assert(Math.max(...heights) < (width < 720 ? 160 : 100), `${file}: rows of ${heights} pixels`);
      await close(page);
    }
  });
}

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing on a site's pages, ${colorScheme}`, async () => {
    for (const file of PAGES.slice(0, 2)) {
      const page = await show(file, { colorScheme });
      await page.evaluate(AXE);
      const found = await page.evaluate(() => globalThis.axe.run());
      assert.deepEqual(
        found.violations.map(({ id, nodes }) => [id, nodes[0].html]),
        [],
        file,
      );
      await close(page);
    }
  });
}
