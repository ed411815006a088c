// The picture of a report for the README: node screenshot.mjs COSIMO CHROMIUM SYSTEM PICTURE
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [cosimo, executablePath, system, picture] = process.argv.slice(2).map((path) => resolve(path));
const folder = mkdtempSync(join(tmpdir(), "cosimo-screenshot-"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-lcd-text"] });
try {
  const report = join(folder, "report.html");
  const { status, stderr } = spawnSync(cosimo, ["run", basename(system), "--report", report], { cwd: dirname(system), encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const page = await browser.newPage({ viewport: { width: 960, height: 1700 }, colorScheme: "light" });
  await page.goto(pathToFileURL(report).href);
  await page.locator("details").evaluateAll((all) => all.forEach((list) => { list.open = false; }));
  // From the verdict to the system: what follows are curves, of which there are many.
  const end = await page.locator("[aria-labelledby=system]").boundingBox();
  await page.screenshot({ path: picture, clip: { x: 0, y: 24, width: 960, height: end.y + end.height - 24 } });
  assert.ok(statSync(picture).size < 200e3, "too large for a repository");
  console.log(`${picture}: ${(statSync(picture).size / 1e3).toFixed(0)} kB`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
