import { expect, test } from "vitest";
import { FetchFailure, type GuardedSend, type OutboundResponse } from "../../../src/clients/guarded-fetch.ts";
import { resourceDoctor } from "../../../src/compose/resource-doctor.ts";

const ISSUER = "https://id.example.test";
const RESOURCE = "https://mcp.example.test/mcp";
const METADATA = "https://mcp.example.test/.well-known/oauth-protected-resource/mcp";

const json = (value: unknown): OutboundResponse => ({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(value)) });
const REFUSED = { status: 401, headers: { "www-authenticate": `Bearer resource_metadata="${METADATA}"` }, body: Buffer.alloc(0) };
const DOCUMENT = { resource: RESOURCE, authorization_servers: [ISSUER], scopes_supported: ["notes:read"] };

/** Answers by URL; anything else is 404. `asked` has every URL. */
function aDoctor(answers: Readonly<Record<string, OutboundResponse | FetchFailure>>, clock = () => 0) {
  const asked: string[] = [];
  const send: GuardedSend["send"] = async ({ url }) => {
    asked.push(url);
    const answer = answers[url] ?? { status: 404, headers: {}, body: Buffer.alloc(0) };
    if (answer instanceof FetchFailure) throw answer;
    return answer;
  };
  return { asked, examine: resourceDoctor({ send }, ISSUER, clock) };
}

test("a resource with challenge and metadata has no fault, and this server is not asked", async () => {
  const { asked, examine } = aDoctor({ [RESOURCE]: REFUSED, [METADATA]: json(DOCUMENT) });
  const report = await examine(RESOURCE);
  expect(report).toMatchObject({ url: RESOURCE, kind: "protected-resource", verdict: "ok" });
  expect(report.findings.map(({ check }) => check)).toEqual(
    expect.arrayContaining(["challenge", "challenge_metadata", "resource_identity", "authorization_servers", "resource_scopes"]),
  );
  expect(asked.filter((url) => url.startsWith(ISSUER))).toEqual([]);
});

test.for([
  [new FetchFailure("name_not_resolved"), "its name does not resolve"],
  [new FetchFailure("address_not_public"), "its address is not public; run `countersign doctor` in its network"],
  [
    new FetchFailure("unreachable", Object.assign(new Error("TLS"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" })),
    "its TLS certificate is not trusted here",
  ],
  [new FetchFailure("unreachable", Object.assign(new Error("refused"), { code: "ECONNREFUSED" })), "nothing listens there"],
] as const)("a request that fails is explained in words", async ([failure, words]) => {
  const { findings, verdict } = await aDoctor({ [RESOURCE]: failure }).examine(RESOURCE);
  expect(verdict).toBe("fault");
  expect(JSON.stringify(findings)).toContain(words);
});

test("nothing more is asked after ten seconds", async () => {
  let now = 0;
  const { asked, examine } = aDoctor(
    { [RESOURCE]: REFUSED, [METADATA]: json({ ...DOCUMENT, authorization_servers: ["https://other.example.test"] }) },
    () => now++ * 2,
  );
  const report = await examine(RESOURCE);
  expect(report.verdict).toBe("fault");
  expect(JSON.stringify(report.findings)).toContain("not asked within 10 seconds");
  expect(asked.length).toBeLessThanOrEqual(5);
});
