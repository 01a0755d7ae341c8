import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOGUE } from "../../src/errors.ts";
import { runText } from "../support/database.ts";
import { authorizePath, type People, startUsers } from "../support/people.ts";
import { aBrowser } from "../support/person.ts";

const PASSWORD = "correct horse battery";

let people: People;
beforeAll(async () => {
  people = await startUsers();
});
afterAll(() => people.close());

/** What a person reads, without the line that is for whoever helps her. */
function readBy(html: string): { readonly words: string; readonly support: string } {
  const [, support = ""] = /<p class="support">([\s\S]*?)<\/p>/.exec(html) ?? [];
  const text = (part: string) => part.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  const body = html.slice(html.indexOf("<main>")).replace(/<p class="support">[\s\S]*?<\/p>/, "");
  return { words: text(body), support: text(support).trim() };
}

/** Words of the protocol and of programs, that nobody who signs in needs to know. */
const FOREIGN = new RegExp(
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
  ["/consent?request=nobody", {}, 400, "invalid_request"],
  ["/login", form("{}", "application/json"), 400, "invalid_request"],
  ["/login", form("email=%ff"), 400, "invalid_request"],
  ["/login", form("email=a"), 403, "forbidden"],
  ["/login", form(`email=${"a".repeat(70_000)}`), 413, "payload_too_large"],
  ["/consent", { method: "PUT" }, 405, "method_not_allowed"],
];

test.for(WRONG.flatMap((wrong) => (["en", "de"] as const).map((language) => [language, ...wrong] as const)))(
  "%s: a page tells people of %s in words of theirs, and support by code and request",
  async ([language, path, init, status, code]) => {
    const answer = await aBrowser(people.url, { accept: "text/html", "accept-language": language }).request(path, init);
    const { words, support } = readBy(await answer.text());
    expect(answer.status).toBe(status);
    expect(words).not.toMatch(FOREIGN);
    expect(support).toBe(`${language === "en" ? "For support:" : "Für den Support:"} ${code} ${answer.headers.get("x-request-id")}`);
  },
);

test.for(["en", "de"] as const)("%s: so it is told that an application is gone while its request waited", async (language) => {
  const email = `words-${language}@example.test`;
  const browser = aBrowser(people.url, { accept: "text/html", "accept-language": language });
  await browser.json("/auth/register", { email, password: PASSWORD });
  await browser.json("/auth/login", { email, password: PASSWORD });
  const page = await browser.follow(authorizePath({ client_id: "draft" }));
  await runText(people.database.sql, "update clients set enabled = false where client_id = $1", ["draft"]);
  const gone = await browser
    .submit(page, { decision: "approve" })
    .finally(() => runText(people.database.sql, "update clients set enabled = true where client_id = $1", ["draft"]));
  const { words, support } = readBy(gone.html);
  expect(gone.status).toBeGreaterThanOrEqual(400);
  expect(words).toContain(language === "en" ? "This application is not known here" : "Diese Anwendung ist hier nicht bekannt");
  expect(words).not.toMatch(FOREIGN);
  expect(support).toContain("invalid_client");
});
