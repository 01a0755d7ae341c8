import type { Browser, BrowserContextOptions, Locator, Page, Route } from "playwright-core";
import { afterAll, beforeEach } from "vitest";
import { openPage, startChromium } from "./chromium.ts";
import { runText } from "./database.ts";
import { OPERATOR, startServer } from "./server.ts";
import { signIn } from "./visits.ts";

interface RouterState {
  readonly state: { readonly status: string; readonly resolvedLocation?: { readonly pathname: string } };
}

const WIDE = { viewport: { width: 1280, height: 900 } };

/** A page in a browser of its own, until the tests of the file have run. */
export async function startPage(options: BrowserContextOptions = WIDE) {
  const browser = await startChromium();
  afterAll(() => browser.close());
  return { browser, ...(await openPage(browser, options)) };
}

/** A server and a page of its console, until the tests of the file have run. @param screen as for openConsole */
export async function startConsole(given: Parameters<typeof startServer>[0] = {}, ...screen: readonly [path?: string, heading?: string]) {
  const [browser, server] = await Promise.all([startChromium(), startServer(given)]);
  afterAll(async () => {
    await browser.close();
    await server.close();
  });
  // On a slow machine a file takes longer than a sign-in lets its user do what cannot be undone.
  beforeEach(() => runText(server.database.sql, "update sessions set proved_at = now()"));
  return { browser, server, ...(await openConsole(browser, server.url, ...screen)) };
}

/** A page in which the operator of the tests has signed in to the console. @param path of the first screen below `/console`, with its heading */
export async function openConsole(browser: Browser, url: string, path = "", heading = "Home") {
  const view = await openPage(browser, WIDE);
  await view.page.goto(`${url}/console${path}`);
  await signIn(view.page, OPERATOR.email, OPERATOR.password);
  await view.page.getByRole("heading", { name: heading, level: 1 }).waitFor();
  return view;
}

/** Moves to a screen within the console, as a link does, and waits until its heading is there and nothing is loading. */
export async function openScreen(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => {
    const [base = ""] = location.pathname.split("/console");
    history.pushState({}, "", `${base}/console${to}`);
    dispatchEvent(new PopStateEvent("popstate"));
  }, path);
  // The router's own state: the heading could still be that of the screen before.
  await page.waitForFunction(() => {
    const { state } = (self as unknown as { readonly __TSR_ROUTER__: RouterState }).__TSR_ROUTER__;
    return state.status === "idle" && location.pathname.endsWith(state.resolvedLocation?.pathname ?? " ");
  });
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForFunction(() => document.querySelector(".mantine-Skeleton-root") === null);
}

const FIELD = "Find a screen, client, user or request id";

/** Opens the search of all screens by its keys and types, once its field has the focus. @returns the field */
export async function typeInSearch(page: Page, text: string): Promise<Locator> {
  const field = page.getByPlaceholder(FIELD);
  await page.keyboard.press("Control+k");
  await field.and(page.locator(":focus")).waitFor();
  await page.keyboard.type(text);
  return field;
}

/** A refusal as tRPC answers it. */
const refusalOf = (data: object) => ({ error: { code: -32_029, message: "no", data } });
export const REFUSED = refusalOf({ code: "TOO_MANY_REQUESTS", httpStatus: 429, message: "Not now." });

/** Refuses one call, whatever other calls are in its batch: they are answered by the server. */
export const refusing =
  (refused: string, data: object = REFUSED.error.data) =>
  async (route: Route): Promise<void> => {
    const response = await route.fetch({ maxRetries: 1 }); // the server may close an idle connection at that moment
    const names = new URL(route.request().url()).pathname.replace("/trpc/", "").split(",");
    const results = [(await response.json()) as object | readonly object[]].flat();
    await route.fulfill({ status: 207, json: results.map((each, at) => (names[at] === refused ? refusalOf(data) : each)) });
  };

/** Holds the next request of a page to an address. @returns what lets it go on, to the server or to an answer of the test */
export async function held(page: Page, url: string) {
  const asked = Promise.withResolvers<Route>();
  let isHeld = false;
  await page.route(url, (route) => {
    if (isHeld) return route.fallback();
    isHeld = true;
    return asked.resolve(route);
  });
  return {
    asked: asked.promise,
    async release(answer: (route: Route) => Promise<void> = (route) => route.continue()): Promise<void> {
      const route = await asked.promise;
      await answer(route);
      await (await route.request().response())?.finished();
    },
  };
}
