import { startNotesServer } from "../../examples/mcp-server/server.ts";
import type { Browser } from "./browser.ts";
import { claimsOf } from "./flow.ts";
import { freePort } from "./free-port.ts";
import { publisher } from "./publisher.ts";
import { PROVISIONED, testOn } from "./server.ts";

/** Both scopes of the record of a resource of the name Notes. */
export const recordOf = (resource: string) => ({ resource, name: "Notes", scopes: [{ name: "notes:read" }, { name: "notes:write" }] });

/** Scopes that clients have without a resource's record: none of a resource. */
export const NO_SCOPE_OF_A_RESOURCE = { DEFAULT_DYNAMIC_REGISTRATION_SCOPES: "openid profile email offline_access" };

/** An authorization server with a record of the guarded notes server, which `startNotes` starts. */
export async function notesWithRecord() {
  const port = await freePort();
  const resource = `http://localhost:${port}/mcp`;
  const test = testOn({ env: NO_SCOPE_OF_A_RESOURCE, provision: { ...PROVISIONED, resources: [recordOf(resource)] } });
  return { test, resource, startNotes: (issuer: string) => startNotesServer({ issuer, port }) };
}

/** Publishes metadata documents. @returns the URL of a document for a client with these redirect URIs */
export async function documents() {
  const site = await publisher();
  const published = new Map<string, object>();
  site.serve((request, response) => {
    const document = published.get(request.url ?? "");
    response.writeHead(document === undefined ? 404 : 200, { "content-type": "application/json" }).end(JSON.stringify(document));
  });
  return {
    close: site.close,
    of(name: string, ...redirectUris: readonly string[]): string {
      const url = `https://localhost:${site.port}/${name}.json`;
      published.set(`/${name}.json`, {
        client_id: url,
        client_name: name,
        redirect_uris: redirectUris,
        grant_types: ["authorization_code", "refresh_token"],
        token_endpoint_auth_method: "none",
      });
      return url;
    },
  };
}

/** Opens an authorization request, and approves it. @returns the URL of the client to which the browser is sent */
export async function approve(browser: Browser, url: string): Promise<string> {
  const page = await browser.follow(url);
  const { url: back } = page.html.includes('name="decision"') ? await browser.submit(page, { decision: "approve" }) : page;
  return back;
}

export const scopesOf = (token = ""): readonly string[] => claimsOf(token).scope.split(" ");
