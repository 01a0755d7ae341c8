import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOGUE } from "../../src/errors.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { authorizePath, type PagesServer, startPagesServer } from "../support/pages-server.ts";

const PASSWORD = "correct horse battery";

let server: PagesServer;
beforeAll(async () => {
  server = await startPagesServer();
});
afterAll(() => server.close());

/** The text of a page, separate from its line for support. */
function readBy(html: string): { readonly words: string; readonly support: string } {
  const [, support = ""] = /<p class="support">([\s\S]*?)<\/p>/.exec(html) ?? [];
  const text = (part: string) => part.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  const body = html.slice(html.indexOf("<main>")).replace(/<p class="support">[\s\S]*?<\/p>/, "");
  return { words: text(body), support: text(support).trim() };
}

/** Technical words that pages do not show to users. */
const TECHNICAL = new RegExp(
  `${Object.keys(CATALOGUE)
    .filter((code) => code.includes("_"))
    .join("|")}|parameter|percent|encod|client_id|redirect|URI\\b|UTF|JSON|application/x-www`,
  "i",
);

const form = (body: string, type = "application/x-www-form-urlencoded") => ({ method: "POST", body, headers: { "content-type": type } });

const WRONG: readonly (readonly [path: string, init: RequestInit, status: number, code: string])[] = [
  ["/login?request=a&request=b", {}, 400, "invalid_request"],
  ["/login?request=%zz", {}, 400, "invalid_request"],
  ["/signup?next=%00", {}, 400, "invalid_request"],
  ["/consent?request=unknown", {}, 400, "invalid_request"],
  ["/login", form("{}", "application/json"), 400, "invalid_request"],
  ["/login", form("email=%ff"), 400, "invalid_request"],
  ["/login", form("email=a"), 403, "forbidden"],
  ["/login", form(`email=${"a".repeat(70_000)}`), 413, "payload_too_large"],
  ["/consent", { method: "PUT" }, 405, "method_not_allowed"],
];

test.for(WRONG.flatMap((wrong) => (["en", "de"] as const).map((language) => [language, ...wrong] as const)))(
  "%s: the page of %s explains the error in plain words, with code and request id for support",
  async ([language, path, init, status, code]) => {
    const answer = await aBrowser(server.url, { accept: "text/html", "accept-language": language }).request(path, init);
    const { words, support } = readBy(await answer.text());
    expect(answer.status).toBe(status);
    expect(words).not.toMatch(TECHNICAL);
    expect(support).toBe(`${language === "en" ? "For support:" : "Für den Support:"} ${code} ${answer.headers.get("x-request-id")}`);
  },
);

test.for(["en", "de"] as const)("%s: an application that was disabled during the request is reported in plain words", async (language) => {
  const email = `words-${language}@example.test`;
  const browser = aBrowser(server.url, { accept: "text/html", "accept-language": language });
  await browser.json("/auth/register", { email, password: PASSWORD });
  await browser.json("/auth/login", { email, password: PASSWORD });
  const page = await browser.follow(authorizePath({ client_id: "draft" }));
  await runText(server.database.sql, "update clients set enabled = false where client_id = $1", ["draft"]);
  const refused = await browser
    .submit(page, { decision: "approve" })
    .finally(() => runText(server.database.sql, "update clients set enabled = true where client_id = $1", ["draft"]));
  const { words, support } = readBy(refused.html);
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(words).toContain(language === "en" ? "Unknown application" : "Unbekannte Anwendung");
  expect(words).not.toMatch(TECHNICAL);
  expect(support).toContain("invalid_client");
});
