// What the tests share: run files that this Assay made, pages of them, and a browser to open them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const ASSAY = process.env.ASSAY;
assert(ASSAY && existsSync(ASSAY), "ASSAY names no program; set it to the path of a built assay");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** A folder of its own, which goes with the process. */
export const folder = mkdtempSync(join(tmpdir(), "assay-page-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Runs `assay`, and returns what it prints. */
export function assay(...args) {
  return execFileSync(ASSAY, args, { cwd: folder, encoding: "utf8", stdio: "pipe" });
}

/** What `assay` says when it refuses. */
export function refusal(...args) {
  try {
    assay(...args);
  } catch (error) {
    return { status: error.status, text: error.stderr };
  }
  assert.fail(`assay ${args.join(" ")} was to be refused`);
}

const made = new Map();

/** A run that was really measured: three engines in memory and two on a RAM disk, two sizes. */
export function measured() {
  if (!made.has("run")) {
    const one = (rows, output) => {
      const counts = [
        "-i",
        rows,
        // Enough for a round of a microsecond: below that there is no rate.
        "-q",
        "1k",
        "-u",
        "1k",
        // All of them, so that no store is left on the RAM disk.
        "-d",
        rows,
        "--trials",
        "2",
        "--latency",
      ];
      const what = ["-s", "m,r", "-e", "btreemap,hashbrown,sqlite,lode", "-Q", "-o", output];
      assay("run", "crossbench", ...counts, ...what);
      return JSON.parse(readFileSync(join(folder, output), "utf8"));
    };
    const [run, other] = [one("500", "small.json"), one("2k", "large.json")];
    run.cells.push(...other.cells);
    run.planned_cells += other.planned_cells;
    made.set("run", JSON.stringify(run));
  }
  return JSON.parse(made.get("run"));
}

/** The page over runs, as a file's address. */
export function pageOf(runs, title = "page") {
  const names = runs.map((run, at) => {
    const path = join(folder, `${title}-${at}.json`);
    writeFileSync(path, JSON.stringify(run));
    return path;
  });
  const path = join(folder, `${title}.html`);
  assay("report", ...names, "-o", path);
  return pathToFileURL(path).href;
}

/** How long a busy machine is waited for. */
const PATIENCE_MS = 300_000;

let browser;
export const startBrowser = async () => {
  const launch = { executablePath: CHROMIUM, args: ["--no-sandbox"], timeout: PATIENCE_MS };
  browser = await chromium.launch(launch);
};
export const endBrowser = () => browser.close();

/**
 * Opens an address, until `ready` is there. What the console says, and what is loaded beside the
 * page, is an error.
 */
export async function open(
  url,
  { width = 1200, height = 900, ready = "#matrix h2", ...options } = {},
) {
  const context = await browser.newContext({ viewport: { width, height }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (message) => page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(error.stack));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) page.complaints.push(`it loads ${request.url()}`);
  });
  await page.goto(url);
  await page.waitForSelector(ready);
  return page;
}

/** Closes a page that had nothing to complain of. */
export async function close(page) {
  assert.deepEqual(page.complaints, []);
  await page.context().close();
}

/** Opens what most readers need not see. */
export const unfold = (page) => page.locator(".fold summary").click();

/** Opens a section and waits for its content, which comes with an event after the click. */
export const openSection = async (page, id, opener = `#${id} summary`) => {
  await page.locator(opener).click();
  await page.locator(`#${id} > :nth-child(2)`).waitFor();
};

export const chip = (page, dimension, value) =>
  page.locator(`[data-dimension="${dimension}"] button`, { hasText: new RegExp(`^${value}$`) });

/** Where the page is, as it says itself: the browser's driver hears of a new fragment later. */
export const address = (page) => page.evaluate(() => location.href);
export const texts = (page, selector) => page.locator(selector).allInnerTexts();
export const columns = (page) => texts(page, "#matrix thead .engine");
export const rowHeads = (page) => texts(page, "#matrix tbody th");
