import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { authorizePath, type PagesServer, startPagesServer } from "../support/pages-server.ts";

const PASSWORD = "correct horse battery";

let server: PagesServer;
beforeAll(async () => {
  server = await startPagesServer();
});
afterAll(() => server.close());

let count = 0;
async function german() {
  const email = `l${++count}@example.test`;
  const browser = aBrowser(server.url, { "accept-language": "de-AT,de;q=0.9,en;q=0.5", accept: "text/html" });
  await browser.json("/auth/register", { email, password: PASSWORD, firstName: "Ada" });
  await browser.json("/auth/login", { email, password: PASSWORD });
  return { email, browser };
}

const anonymous = (language: string) => aBrowser(server.url, { "accept-language": language, accept: "text/html" });

describe("pages in the language of Accept-Language", () => {
  test.for([
    ["/login", "Anmelden", 200],
    ["/signup", "Konto anlegen", 200],
    ["/logout", "Sie sind abgemeldet", 200],
    ["/consent?request=x", "Dieser Link ist abgelaufen", 400],
    ["/nowhere", "Seite nicht gefunden", 404],
    ["/auth/verify?token=x", "Dieser Link gilt nicht mehr", 400],
  ] as const)("%s is German for de and English for fr", async ([path, words, status]) => {
    const page = await anonymous("de").follow(path);
    expect(page.status).toBe(status);
    expect(page.html).toContain('<html lang="de">');
    expect(page.html).toContain(words);
    expect(page.headers.get("content-language")).toBe("de");
    expect(page.headers.get("vary")).toContain("Accept-Language");
    const english = await anonymous("fr").follow(path);
    expect([english.headers.get("content-language"), english.html.includes('<html lang="en">')]).toEqual(["en", true]);
  });

  test("pages of a signed-in user are German", async () => {
    const { browser, email } = await german();
    const consent = await browser.follow(authorizePath({ scope: "openid profile notes:read", resource: "https://notes.example.test/mcp" }));
    for (const words of ["bittet um Zugriff", "Wissen, wer Sie sind", "Eine Berechtigung bei notes.example.test/mcp.", "Ablehnen"]) {
      expect(consent.html).toContain(words);
    }
    expect((await browser.follow("/logout")).html).toContain(`Sie sind angemeldet als <strong>${email}</strong>`);
    expect((await browser.follow("/account")).html).toContain('<html lang="de">');
  });
});

describe("links to the page in another language", () => {
  test.for([
    ["/login?next=%2Faccount%2Fsecurity&error=x", "/login?next=%2Faccount%2Fsecurity&amp;lang=de"],
    ["/reset?token=abc&code=x", "/reset?token=abc&amp;lang=de"],
    ["/signup?token=abc", "/signup?lang=de"],
    ["/device?user_code=BCDF-GHJK", "/device?user_code=BCDF-GHJK&amp;lang=de"],
  ] as const)("of %s keep only what the page needs", async ([path, link]) => {
    expect((await anonymous("en").follow(path)).html).toContain(`href="${link}"`);
  });

  test("are not on a page that cannot be repeated", async () => {
    expect((await anonymous("en").follow("/signin/none/callback?code=x&state=y")).html).not.toContain("lang=de");
  });
});

describe("refusals in the language of the page", () => {
  test("a failed sign-in", async () => {
    const browser = anonymous("de");
    const page = await browser.submit(await browser.follow("/login"), { email: "unknown@example.test", password: PASSWORD });
    expect([page.status, page.html.includes("E-Mail-Adresse oder Passwort ist falsch.")]).toEqual([401, true]);
    expect(page.html).toContain("<title>Fehler: Anmelden");
  });

  test("errors of a sign-up at their fields, and a taken address", async () => {
    const browser = anonymous("de");
    const { email } = await german();
    const bad = await browser.submit(await browser.follow("/signup"), { email: "x@", password: PASSWORD });
    expect(bad.html).toContain('<a href="#email">Geben Sie eine E-Mail-Adresse ein');
    const weak = await browser.submit(bad, { email: "new@example.test", password: "iloveyou" });
    expect(weak.html).toContain("Dieses Passwort ist zu leicht zu erraten.");
    const taken = await browser.submit(weak, { email, password: "another horse battery" });
    expect([taken.status, taken.html.includes("gibt es schon ein Konto")]).toEqual([409, true]);
    const joined = await browser.submit(taken, { email: "new@example.test", password: PASSWORD });
    expect(joined.html).toContain("Ihr Konto ist angelegt.");
    const sent = await browser.follow("/signup/sent");
    expect([sent.status, sent.html.includes("Prüfen Sie Ihr Postfach")]).toEqual([200, true]);
  });

  test("a form without its token", async () => {
    const browser = anonymous("de");
    const response = await browser.request("/login", { method: "POST", body: new URLSearchParams({ email: "a", form_token: "x" }) });
    expect([response.status, (await response.text()).includes("Dieses Formular gilt nicht mehr")]).toEqual([403, true]);
  });
});

describe("the choice of a language", () => {
  test("stays with the browser, and with the request of an application", async () => {
    const browser = anonymous("en");
    const english = await browser.follow(authorizePath({ scope: "openid" }));
    const link = /<a href="([^"]+)" lang="de"/.exec(english.html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect(link).toMatch(/^\/login\?request=[^&]+&lang=de$/);
    const german = await browser.follow(link);
    expect([german.url, german.headers.get("content-language")]).toEqual([english.url, "de"]);
    expect(german.html).toContain("Field Notes");
    expect(german.html).toContain('<span aria-current="true">Deutsch</span>');
    const failed = await browser.submit(german, { email: "unknown@example.test", password: PASSWORD });
    expect([failed.status, failed.html.includes("E-Mail-Adresse oder Passwort ist falsch.")]).toEqual([401, true]);
    expect(failed.html).not.toContain("hreflang=");
  });

  test("ignores an unknown language", async () => {
    const page = await anonymous("de").follow("/login?lang=xx");
    expect([page.status, page.headers.get("content-language"), page.headers.getSetCookie().join()]).toEqual([
      200,
      "de",
      expect.not.stringContaining("language"),
    ]);
  });

  test("is not offered where the link would repeat what happened", async () => {
    expect((await anonymous("en").follow("/auth/verify?token=x")).html).not.toContain("hreflang=");
  });
});

describe("ui_locales", () => {
  test("gives the language of the pages, until the user chooses one", async () => {
    const browser = anonymous("en");
    expect((await browser.follow(`${authorizePath({ scope: "openid" })}&ui_locales=fr+de`)).headers.get("content-language")).toBe("de");
    expect((await browser.follow("/login?lang=en")).headers.get("content-language")).toBe("en");
    expect((await browser.follow(`${authorizePath({ scope: "openid" })}&ui_locales=de`)).headers.get("content-language")).toBe("en");
  });

  test("stays with a request that was sent by POST", async () => {
    const [path = "", query = ""] = authorizePath({ scope: "openid" }).split("?");
    const sent = await anonymous("en").follow(path, { method: "POST", body: new URLSearchParams(`${query}&ui_locales=de`) });
    expect(sent.headers.get("content-language")).toBe("de");
  });

  test("may be cut in the middle of a character", async () => {
    const [path = "", query = ""] = authorizePath({ scope: "openid" }).split("?");
    const body = new URLSearchParams(query);
    body.set("ui_locales", `de ${"x".repeat(196)}\u{1f600}`);
    const sent = await anonymous("en").follow(path, { method: "POST", body });
    expect([sent.status, sent.headers.get("content-language")]).toEqual([200, "de"]);
  });
});
