import { describe, expect, test } from "vitest";
import type { GuardedFetch } from "../../../src/clients/guarded-fetch.ts";
import { workloadKeys } from "../../../src/clients/remote-keys.ts";
import { workloadDefaults } from "../../../src/clients/workload.ts";
import { aClock } from "../../support/clock.ts";

const KEY = { kty: "EC", crv: "P-256", x: "x", y: "y" };

function world(documents: Readonly<Record<string, unknown>>) {
  const clock = aClock();
  const asked: string[] = [];
  const fetchAs = (name: string) =>
    ({
      json: async (url: string) => {
        asked.push(`${name} ${url}`);
        return { value: documents[url], text: JSON.stringify(documents[url]), freshFor: undefined };
      },
    }) as unknown as GuardedFetch;
  return { clock, asked, keysOf: workloadKeys(fetchAs("public"), fetchAs("private"), fetchAs("document"), clock.now) };
}

const oidc = { ...workloadDefaults("oidc"), issuer: "https://ci.example/" };
const spiffe = { ...workloadDefaults("spiffe"), issuer: "spiffe://acme.example", bundleEndpoint: "https://spire.example/bundle" };

describe("docs/protocol.md#workloads: keys", () => {
  test("come from the issuer's discovery document, or from the address that the operator gave", async () => {
    const { asked, keysOf } = world({
      "https://ci.example/.well-known/openid-configuration": { issuer: "https://ci.example/", jwks_uri: "https://ci.example/keys" },
      "https://ci.example/keys": { keys: [KEY] },
      "https://mirror.example/keys": { keys: [] },
    });
    const discovered = keysOf(oidc);
    expect(await discovered.keys.current(discovered.source)).toEqual([KEY]);
    const given = keysOf({ ...oidc, jwksUri: "https://mirror.example/keys", allowPrivate: true });
    expect(await given.keys.current(given.source)).toEqual([]);
    expect(asked).toEqual([
      "public https://ci.example/.well-known/openid-configuration",
      "public https://ci.example/keys",
      "private https://mirror.example/keys",
    ]);
  });

  test("are looked for where the issuer publishes them now, and at the known address while its document cannot be had", async () => {
    const document = "https://ci.example/.well-known/openid-configuration";
    const documents: Record<string, unknown> = {
      [document]: { issuer: "https://ci.example/", jwks_uri: "https://ci.example/keys" },
      "https://ci.example/keys": { keys: [KEY] },
    };
    const { clock, keysOf } = world(documents);
    const { keys, source } = keysOf(oidc);
    await keys.current(source);
    const next = { ...KEY, kid: "next" };
    documents[document] = { issuer: "https://ci.example/", jwks_uri: "https://keys.example/ci" };
    documents["https://keys.example/ci"] = { keys: [next] };
    expect(await keys.refreshed(source)).toEqual([next]);
    expect(await keys.current(source)).toEqual([next]);
    clock.pass(60);
    documents[document] = undefined;
    documents["https://keys.example/ci"] = { keys: [KEY, next] };
    expect(await keys.refreshed(source)).toEqual([KEY, next]);
  });

  test("are asked for at the issuer twice a minute at most, also while its document cannot be had", async () => {
    const document = "https://ci.example/.well-known/openid-configuration";
    const documents: Record<string, unknown> = {
      [document]: { issuer: "https://ci.example/", jwks_uri: "https://ci.example/keys" },
      "https://ci.example/keys": { keys: [KEY] },
    };
    const { clock, asked, keysOf } = world(documents);
    const { keys, source } = keysOf(oidc);
    await keys.current(source);
    documents[document] = undefined;
    asked.length = 0;
    for (let second = 0; second < 60; second += 1) {
      expect(await keys.refreshed(source)).toEqual([KEY]);
      clock.pass(1);
    }
    expect(asked.toSorted()).toEqual([`public ${document}`, "public https://ci.example/keys", "public https://ci.example/keys"]);
  });

  test("of a bundle that a metadata document names are fetched apart from those of operators", async () => {
    const { asked, keysOf } = world({ [spiffe.bundleEndpoint]: { keys: [] } });
    for (const origin of [spiffe, { ...spiffe, ofDocument: true }]) {
      const { keys, source } = keysOf(origin);
      await keys.current(source);
    }
    expect(asked).toEqual([`public ${spiffe.bundleEndpoint}`, `document ${spiffe.bundleEndpoint}`]);
  });

  test.for([
    [undefined, 300],
    [600, 600],
    [1, 60],
    [86_400, 3_600],
    ["soon", 300],
  ] as const)("of a bundle are those for SVIDs, and with the hint %s they are kept for %i seconds", async ([hint, seconds]) => {
    const bundle = {
      keys: [
        { ...KEY, kid: "x", use: "x509-svid" },
        { ...KEY, kid: "j", use: "jwt-svid" },
        { ...KEY, kid: "u" },
      ],
      ...(hint !== undefined && { spiffe_refresh_hint: hint }),
    };
    const { asked, clock, keysOf } = world({ [spiffe.bundleEndpoint]: bundle });
    const { keys, source } = keysOf(spiffe);
    expect(await keys.current(source)).toEqual([{ ...KEY, kid: "j" }]);
    clock.pass(seconds - 1);
    await keys.current(source);
    expect(asked).toHaveLength(1);
    clock.pass(1);
    await keys.current(source);
    expect(asked).toHaveLength(2);
  });

  test("of a bundle that is none cannot be had", async () => {
    const { keysOf } = world({});
    const { keys, source } = keysOf(spiffe);
    await expect(keys.current(source)).rejects.toThrow("no_public_key_set");
  });
});
