import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** Where Debian installs Chromium: without windows, which cost as much CPU as the pages in them, and whole. */
const DEBIAN = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** A real Chromium, at CHROMIUM_PATH or where Debian installs it. @param args further command-line switches */
export const startChromium = (args: readonly string[] = []): Promise<Browser> =>
  chromium.launch({ executablePath: process.env.CHROMIUM_PATH ?? DEBIAN.find(existsSync) ?? "chromium", args: ["--no-sandbox", ...args] });

/** A page in a context of its own, with a list of problems: requests to other hosts, console errors and violations of its policy. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ locale: "en-GB", ...options });
  context.setDefaultTimeout(60_000); // what comes at once on an idle machine takes long on a crowded one
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("request", (request) => {
    const { hostname } = new URL(request.url());
    if (hostname !== "localhost" && hostname !== "127.0.0.1") problems.push(`asked ${request.url()}`);
  });
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  return { page, problems, close: () => context.close() };
}

/** Does what leads to another page, and waits until that has loaded: a click may return before the browser has begun to leave. */
export const loading = (page: Page, act: () => Promise<void>) => Promise.all([page.waitForEvent("load"), act()]);

/** The client's redirect URI, on a free loopback port. */
export async function startCallback() {
  const server = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(request.url?.startsWith("/cb") ? "<h1>Back at the client</h1>" : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { uri: `http://127.0.0.1:${port}/cb`, close };
}

/** The accessibility flaws of a page. Needs scripts. */
export const flawsOf = (page: Page): Promise<string[]> => page.evaluate(findFlaws);

/** Runs in the browser. Checks structure, names, sizes and contrasts (WCAG 2.2: 1.3.1, 1.4.3, 1.4.10, 2.4.2, 2.5.8, 3.1.1, 4.1.2). */
function findFlaws(): string[] {
  const flaws: string[] = [];
  const all = <E extends Element>(selector: string) => [...document.querySelectorAll<E & HTMLElement>(selector)];
  const seen = (element: HTMLElement) => element.offsetWidth > 0 && element.offsetHeight > 0;

  if (document.documentElement.lang === "") flaws.push("no language");
  if (document.title === "") flaws.push("no title");
  if (all("main").length !== 1) flaws.push("not one main");
  if (all("h1").length !== 1) flaws.push("not one h1");
  let level = 1;
  for (const heading of all("h1, h2, h3, h4")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) flaws.push(`heading jumps to ${heading.textContent}`);
    level = next;
  }
  for (const input of all<HTMLInputElement>("input:not([type=hidden]):not([hidden])")) {
    if ((input as HTMLInputElement).labels?.length !== 1) flaws.push(`no label: ${(input as HTMLInputElement).name}`);
    const described = input.getAttribute("aria-describedby")?.split(" ") ?? [];
    for (const id of described) if (!document.getElementById(id)) flaws.push(`describes nothing: ${id}`);
  }
  for (const element of all("button, a")) {
    if ((element.getAttribute("aria-label") ?? element.textContent ?? "").trim() === "") flaws.push("a control without a name");
    const inText = element.parentElement !== null && getComputedStyle(element).display === "inline";
    if (seen(element) && !inText && element.offsetHeight < 24) flaws.push(`small: ${element.textContent}`);
  }
  const ids = all("[id]").map(({ id }) => id);
  if (new Set(ids).size !== ids.length) flaws.push("an id twice");
  if (document.documentElement.scrollWidth > window.innerWidth) flaws.push("scrolls sideways");

  const parse = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (color: readonly number[]) => {
    const [r = 0, g = 0, b = 0] = color.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element: Element | null): readonly number[] => {
    if (element === null) return [255, 255, 255];
    const color = parse(getComputedStyle(element).backgroundColor);
    return color.length === 3 || color[3] === 1 ? color : background(element.parentElement);
  };
  for (const element of all("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && (node.textContent ?? "").trim() !== "");
    if (!own || !seen(element)) continue;
    const [a, b] = [luminance(parse(getComputedStyle(element).color).slice(0, 3)), luminance(background(element).slice(0, 3))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) flaws.push(`contrast ${contrast.toFixed(2)}: ${element.textContent}`);
  }
  return flaws;
}
