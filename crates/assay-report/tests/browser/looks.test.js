// The page on screens and on paper, in the light and in the dark, and for those who hear it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";

import {
  close,
  columns,
  endBrowser,
  folder,
  measured,
  open,
  pageOf,
  startBrowser,
} from "./support.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const OPEN = "#open=size,latency,space,why,trust,settings,repeat";

before(startBrowser);
after(endBrowser);

/** A run of many engines: copies of those that were measured, with other names. */
function manyEngines(count) {
  const run = measured();
  const some = run.cells.filter(
    ({ cell }) => cell.storage === "memory" && cell.engine === "sqlite",
  );
  run.cells = Array.from({ length: count }, (_, at) => {
    const copies = structuredClone(some);
    for (const { cell, measurement } of copies) {
      cell.engine = `engine-${String(at + 1).padStart(2, "0")}`;
      for (const { rounds } of measurement.phases)
        rounds.forEach((round) => (round.time_ns *= 3 ** (at % 11)));
    }
    return copies;
  }).flat();
  run.planned_cells = run.cells.length;
  return run;
}

for (const width of [390, 1200, 1600]) {
  test(`no figure is cut at ${width} pixels`, async () => {
    const page = await open(pageOf([manyEngines(14)], "wide"), { width, height: 844 });
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert(wider <= 0, `the page is ${wider} pixels wider than the screen`);
    const cut = await page.evaluate(() => {
      const isCut = (one) =>
        one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline";
      const all = document.querySelectorAll(
        "#matrix td, .ranks .figure, .ranks .count, #matrix thead th",
      );
      return [...all].filter(isCut).map((one) => one.innerText);
    });
    assert.deepEqual(cut, []);
    // Each cell can be brought into sight whole, beside the heading of its row.
    const last = page.locator("#matrix tbody tr").last().locator("td").last();
    await last.scrollIntoViewIfNeeded();
    const [cell, head] = [
      await last.boundingBox(),
      await page.locator("#matrix tbody th").last().boundingBox(),
    ];
    assert(
      cell.x >= head.x + head.width - 1 && cell.x + cell.width <= width,
      JSON.stringify([cell, head]),
    );
    await close(page);
  });
}

const NAMES =
  "lode crossdb skvdb lmdb mdbx nudb leveldb canopydb fjall rocksdb sqlite surrealkv redb sled";

test("14 engines fit at 1200 pixels", async () => {
  const run = manyEngines(14);
  const names = NAMES.split(" ");
  for (const { cell } of run.cells) cell.engine = names[parseInt(cell.engine.slice(-2), 10) - 1];
  const page = await open(pageOf([run], "fit"), { width: 1200, height: 900 });
  const last = await page.locator("#matrix thead th").last().boundingBox();
  assert(last.x + last.width <= 1200, JSON.stringify(last));
  await close(page);
});

test("the headings stay in sight", async () => {
  for (const width of [390, 1600]) {
    const page = await open(pageOf([manyEngines(12)], "sticky"), { width, height: 320 });
    await page.locator("#matrix tbody tr").last().locator("td").last().scrollIntoViewIfNeeded();
    await page.locator("#matrix tbody tr").last().locator("td").last().focus();
    const head = await page.locator("#matrix thead th").last().boundingBox();
    assert(head.y >= 0 && head.y < 320, `${width}: ${JSON.stringify(head)}`);
    await close(page);
  }
});

test("paper has every column, and none runs off the sheet", async () => {
  const page = await open(pageOf([manyEngines(20)], "paper"));
  const names = await columns(page);
  assert.equal(names.length, 20);
  const figures = await page.locator("#matrix td").allInnerTexts();
  const path = join(folder, "paper.pdf");
  writeFileSync(path, await page.pdf({ format: "A4" }));
  const words = execFileSync("pdftotext", ["-bbox", path, "-"], { encoding: "utf8" });
  let width = 0;
  let printed = [];
  for (const [, pageWidth, xMin, xMax, word] of words.matchAll(
    /<page width="([\d.]+)"|<word xMin="([\d.-]+)"[^>]*xMax="([\d.-]+)"[^>]*>([^<]*)</g,
  )) {
    if (pageWidth) width = Number(pageWidth);
    else {
      assert(
        Number(xMin) >= 0 && Number(xMax) <= width,
        `${word} runs off the sheet: ${xMin} to ${xMax}`,
      );
      printed.push(word);
    }
  }
  const matrix = printed.slice(printed.lastIndexOf("Every"));
  for (const name of names) {
    assert.equal(matrix.filter((word) => word === name).length >= 1, true, `${name} is on paper`);
  }
  const ratios = figures.map((text) => text.split(" ")[0]).filter((text) => text.endsWith("×"));
  assert(ratios.length > 100);
  const count = (list, one) => list.filter((text) => text === one).length;
  for (const ratio of new Set(ratios)) {
    assert(
      count(matrix, ratio) >= count(ratios, ratio),
      `${ratio} is printed as often as it is shown`,
    );
  }
  await close(page);
});

test("the dark page has colours of its own", async () => {
  const url = pageOf([measured()]);
  const colours = async (colorScheme) => {
    const page = await open(url + OPEN, { colorScheme });
    const found = await page.evaluate(() => {
      const style = (selector) => getComputedStyle(document.querySelector(selector));
      const line = document.querySelector(".line path").getAttribute("stroke");
      return [style("body").backgroundColor, style("td.best").backgroundColor, line];
    });
    await close(page);
    return found;
  };
  const [light, dark] = [await colours("light"), await colours("dark")];
  light.forEach((colour, at) => assert.notEqual(colour, dark[at]));
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [390, 1200]) {
    test(`axe finds nothing, ${colorScheme}, ${width} pixels`, async () => {
      const page = await open(pageOf([measured()]) + OPEN, { colorScheme, width });
      await page.locator("#matrix td").first().focus();
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const short = violations.map(
        ({ id, nodes }) =>
          `${id}: ${nodes.map((n) => `${n.html} ${n.failureSummary}`).join(" | ")}`,
      );
      assert.deepEqual(short, []);
      await close(page);
    });
  }
}
