import type { Page } from "playwright-core";
import { loading } from "./chromium.ts";
import { authorizePath, type PagesServer } from "./pages-server.ts";

const PASSWORD = "correct horse battery";

/** What the tour needs. */
export interface Tour {
  readonly page: Page;
  readonly server: PagesServer;
  /** The redirect URI of the client `device`. */
  readonly callback: string;
  /** An address without an account. */
  readonly email: string;
  /** Called on every page of the service, with a name for it. */
  look(name: string): Promise<void>;
}

/** Leads a user through every page of the service, in any language: fields are found by their names, not by text. */
export async function tourOfPages({ page, server, callback, email, look }: Tour): Promise<void> {
  const go = (path: string) => page.goto(server.url + path);
  const fill = async (fields: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(fields)) await page.locator(`input[name=${name}]`).fill(value);
  };
  const send = async (action: string, decision?: string) => {
    const button = decision === undefined ? "button[type=submit]" : `button[value=${decision}]`;
    await loading(page, () => page.locator(`form[action="${action}"] ${button}`).first().click());
  };
  const ask = (members: Record<string, string> = {}) => go(authorizePath({ client_id: "device", redirect_uri: callback, ...members }));

  await go("/signup");
  await look("sign-up");
  await fill({ email: "x@", password: "short" });
  await send("/signup");
  await look("sign-up-faults");
  await fill({ email, password: PASSWORD });
  await send("/signup");
  await look("account-new");
  await go("/signup/sent");
  await look("check-mail");
  await server.tokenFor(email); // a new mail replaces one that is still unsent
  await send("/signup/resend");
  await look("check-mail-again");
  const token = await server.tokenFor(email, 2);
  await go(`/auth/verify?token=${token}`);
  await look("address-confirmed");
  await go(`/auth/verify?token=${"a".repeat(64)}`);
  await look("link-no-longer-good");

  await page.context().clearCookies();
  await ask();
  await look("sign-in-to-application");
  await fill({ email, password: "wrong" });
  await send("/login");
  await look("sign-in-failed");
  await fill({ email, password: PASSWORD });
  await send("/login");
  await look("consent-on-this-device");
  await send("/consent", "approve");
  await page.getByRole("heading", { name: "Back at the client" }).waitFor();
  await ask({ scope: "openid profile email notes:read notes:write offline_access", resource: "https://notes.example.test/mcp" });
  await look("consent-to-more");
  await go(authorizePath({ scope: "openid profile email offline_access", resource: "https://notes.example.test/mcp" }));
  await look("consent");
  const stranger = {
    client_id: await server.registerDeceiver(),
    redirect_uri: "https://xn--pple-43d.example/cb",
    scope: "openid notes:read",
  };
  await go(authorizePath(stranger));
  await look("consent-name-not-verified");
  await ask({ prompt: "login" });
  await look("sign-in-again");
  await go("/device");
  await look("device");
  await go(`/device?user_code=${await server.userCode()}`);
  await send("/device");
  await look("consent-of-a-device");
  await send("/consent", "approve");
  await look("device-connected");

  await go("/account");
  const own = await page.locator(".account-nav a").evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
  for (const path of own) {
    await go(path);
    await look(path.slice(1).replaceAll("/", "-"));
  }
  await go("/account/delete");
  await look("account-delete");
  await go("/account");
  await fill({ firstName: "a".repeat(101) });
  await send("/account/profile");
  await look("account-faults");
  await go("/account/security");
  await go("/account/security/password");
  await look("account-password");
  await fill({ password: "short" });
  await send("/account/security/password");
  await look("account-password-faults");
  await go("/account/security/address");
  await fill({ email });
  await send("/account/security/address");
  await look("account-address-faults");
  await go("/account/security/address/confirm?token=old");
  await look("account-address-link-no-longer-good");
  await go("/logout?id_token_hint=x");
  await look("sign-out-not-in-order");
  await go("/logout");
  await look("sign-out");
  await send("/logout");
  await look("signed-out");
  await go("/login");
  await look("sign-in");
  await go("/forgot");
  await look("password-forgotten");
  await fill({ email: "x@" });
  await send("/forgot");
  await look("password-forgotten-faults");
  await fill({ email });
  await send("/forgot");
  await look("password-link-sent");
  await go(`/reset?token=${await server.resetTokenFor(email, 3)}`);
  await look("password-to-choose");
  await fill({ password: "iloveyou" });
  await send("/reset");
  await look("password-to-choose-faults");
  await fill({ password: "another horse battery" });
  await send("/reset");
  await look("password-changed");
  await go("/reset?token=unknown");
  await look("password-link-no-longer-good");
  await go("/login");
  await fill({ email, password: "another horse battery" });
  await send("/login");
  await go("/account/delete");
  await send("/account/delete");
  await look("account-deleted");
  await go("/consent?request=unknown");
  await look("request-expired");
  await go("/nowhere");
  await look("nothing-here");
}
