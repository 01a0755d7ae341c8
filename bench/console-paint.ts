import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { AGENT, CLIENTS, DELEGATIONS, fillConsole, OPERATOR } from "./console-rows.ts";
import { startServe } from "./serve.ts";
import { emptyStorage, STORAGE } from "./storage.ts";

/** In milliseconds. */
const FIRST_PAINT = 500;
const NEXT_PAINT = 100;
/** Shorter inputs have no entry of Event Timing: they count as this. */
const SHORTEST = 16;

/** What the page has measured of itself, in milliseconds. */
interface Seen {
  /** The first paint with any content, and the first with rows. */
  readonly content: number;
  readonly rows: number;
  /** From each input to the next paint. */
  readonly inputs: readonly number[];
}

interface Screen {
  readonly name: string;
  readonly path: string;
  /** What has to be in the page. */
  readonly row: string;
  /** What is done before the inputs. */
  readonly prepare: (page: Page) => Promise<void>;
  readonly inputs: (page: Page) => Promise<void>;
}

const SCREENS: readonly Screen[] = [
  {
    name: `clients, ${CLIENTS} rows`,
    path: "/clients",
    row: "tr[data-index]",
    prepare: scrolledToTheEnd,
    async inputs(page) {
      await page.keyboard.press("Home");
      await page.getByRole("button", { name: /^Sort by Name/ }).click();
      await page.getByLabel("Search by name or client ID").click();
      await page.keyboard.type("Client 77", { delay: 60 });
      await page.getByRole("button", { name: /^Switch/ }).click();
    },
  },
  {
    name: `an agent with ${DELEGATIONS} live delegations`,
    path: `/agents/${AGENT}`,
    row: ".tree-node",
    prepare: async () => undefined,
    async inputs(page) {
      await page.locator(".tree-node").first().click();
      await page.getByRole("button", { name: /^Switch/ }).click();
      await page.getByRole("button", { name: "Pause", exact: true }).first().click();
      await page.keyboard.type("too many", { delay: 60 });
    },
  },
];

/** Loads every page of a list by scrolling. */
async function scrolledToTheEnd(page: Page): Promise<void> {
  await page.waitForFunction((least) => {
    scrollTo(0, document.body.scrollHeight);
    return Number(document.querySelector("table")?.getAttribute("aria-rowcount")) > least;
  }, CLIENTS);
}

/** Runs in the page before its own scripts. */
function observe(row: string): void {
  const seen = { content: 0, rows: 0, inputs: [] as number[] };
  Object.assign(globalThis, { seen });
  const entries = (type: string, take: (entry: PerformanceEntry & { readonly interactionId?: number }) => void, more: object = {}) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more });
  entries("paint", ({ name, startTime }) => {
    if (name === "first-contentful-paint") seen.content = startTime;
  });
  entries(
    "event",
    ({ interactionId = 0, duration }) => {
      if (interactionId > 0) seen.inputs.push(duration);
    },
    { durationThreshold: 16 },
  );
  new MutationObserver((_, observer) => {
    if (document.querySelector(row) === null) return;
    observer.disconnect();
    requestAnimationFrame(() => {
      // The task after a frame begins when the frame has been painted.
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        seen.rows = performance.now();
      };
      port2.postMessage(undefined);
    });
  }).observe(document, { childList: true, subtree: true });
}

async function seenOnce(
  browser: Browser,
  signedIn: Awaited<ReturnType<BrowserContext["storageState"]>>,
  url: string,
  screen: Screen,
): Promise<Seen> {
  const context = await browser.newContext({ locale: "en-GB", viewport: { width: 1280, height: 800 }, storageState: signedIn });
  try {
    const page = await context.newPage();
    await page.addInitScript(observe, screen.row);
    await page.goto(`${url}/console${screen.path}`);
    const seen = () => page.evaluate(() => (globalThis as unknown as { readonly seen: Seen }).seen);
    while ((await seen()).rows === 0) await page.waitForTimeout(20);
    await screen.prepare(page);
    await screen.inputs(page);
    await page.waitForTimeout(500); // entries of Event Timing follow their frames
    return await seen();
  } finally {
    await context.close();
  }
}

async function signedInState(browser: Browser, url: string) {
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  await page.goto(`${url}/console`);
  await page.getByLabel("E-mail address").fill(OPERATOR.email);
  await page.getByLabel("Password").fill(OPERATOR.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { level: 1 }).waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const shown = (values: readonly number[]): string => `${median(values).toFixed(0)} / ${Math.max(...values).toFixed(0)}`;

/** How long the console takes to paint, measured by Chromium, each time with an empty cache. @param runs of each screen */
export async function paint(runs: number): Promise<void> {
  const storage = await emptyStorage();
  await fillConsole(storage);
  const provision = join(storage.env.DATA_DIR ?? "", "provision.json");
  writeFileSync(provision, JSON.stringify({ users: [{ ...OPERATOR, emailVerified: true, role: "operator" }] }));
  const server = await startServe(storage, { PROVISION_FILE: provision });
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM_PATH ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  try {
    const url = `http://localhost:${server.port}`;
    const signedIn = await signedInState(browser, url);
    console.log(`${STORAGE}, Chromium ${browser.version()}, ${runs} runs, milliseconds (median / worst)\n`);
    console.log("| screen | first paint | with rows | input to next paint |\n| --- | --- | --- | --- |");
    for (const screen of SCREENS) {
      const seen: Seen[] = [];
      for (let run = 0; run < runs; run++) seen.push(await seenOnce(browser, signedIn, url, screen));
      const inputs = seen.flatMap(({ inputs }) => (inputs.length === 0 ? [SHORTEST] : inputs));
      console.log(
        `| ${screen.name} | ${shown(seen.map(({ content }) => content))} | ${shown(seen.map(({ rows }) => rows))} | ${shown(inputs)} |`,
      );
    }
    console.log(`| aim | < ${FIRST_PAINT} | < ${FIRST_PAINT} | < ${NEXT_PAINT} |`);
  } finally {
    await browser.close();
    await server.stop();
    await storage.drop();
  }
}
