import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { asPublicKeySet, isAssertionAlgorithm, type PublishedKey } from "../../../src/clients/public-keys.ts";
import { verifyByRemoteKeys, verifySignature } from "../../../src/clients/published-keys.ts";
import { hasForbiddenMember, parseJws } from "../../../src/protocol/jws.ts";

interface Case {
  readonly tcId: number;
  readonly comment: string;
  readonly jws: unknown;
  readonly result: "valid" | "invalid" | "acceptable";
  readonly flags: readonly string[];
}
interface Group {
  readonly comment: string;
  readonly public?: PublishedKey;
  readonly private?: PublishedKey;
  readonly tests: readonly Case[];
}
const groupsOf = (file: string): readonly Group[] =>
  JSON.parse(readFileSync(new URL(`../../vectors/${file}`, import.meta.url), "utf8")).testGroups;

/** Verifies as an assertion is verified: its header, then its signature by the matching key. */
async function accepts(jws: unknown, keys: readonly PublishedKey[] | undefined): Promise<boolean> {
  const parsed = typeof jws === "string" ? parseJws(jws) : undefined;
  if (parsed === undefined || hasForbiddenMember(parsed) || keys === undefined) return false;
  return isAssertionAlgorithm(parsed.header.alg) && (await verifySignature(parsed, keys)) === "valid";
}

/** Leaves out the cases with shared secrets: keys of that kind are never accepted here. */
const isAsymmetric = ({ public: key }: Group) => key !== undefined;

const signatures = groupsOf("json_web_signature_test.json")
  .filter(isAsymmetric)
  .flatMap((group) => group.tests.map((each) => ({ ...each, group: group.comment, key: group.public as PublishedKey })));

/** Valid by the set, but refused here because the key's alg is unknown or differs from the signature's. */
const STRICTER = new Set(["Figure20", "Figure27"]);

test("the set is complete", () => {
  expect(signatures.length).toBeGreaterThan(350);
});

test.for(signatures)("Wycheproof JWS $tcId ($group): $comment is $result", async ({ jws, key, result, comment }) => {
  const accepted = await accepts(jws, asPublicKeySet({ keys: [key] }));
  if (result === "valid" && !STRICTER.has(comment)) expect(accepted).toBe(true);
  if (result === "invalid" || STRICTER.has(comment)) expect(accepted).toBe(false);
});

const keySets = groupsOf("json_web_key_test.json").flatMap((group) =>
  group.tests.map((each) => ({ ...each, group: group.comment, set: group.public ?? group.private })),
);

test.for(keySets)("Wycheproof JWK $tcId ($group): $comment is $result", async ({ jws, set, result, group }) => {
  const accepted = await accepts(jws, asPublicKeySet(set));
  // Symmetric keys are valid in the set and never accepted here.
  if (result === "valid" && !/^(?:HS|jws_keyset)/.test(group)) expect(accepted).toBe(true);
  else if (result !== "acceptable") expect(accepted).toBe(false);
});

test("a wrong signature is verified once where the keys that are fetched again are the same", async () => {
  const keys = asPublicKeySet({ keys: [generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" })] }) ?? [];
  let read = 0;
  const jws = {
    header: { alg: "EdDSA" },
    payload: Buffer.alloc(0),
    headerSegment: "a",
    signingInput: "a.b",
    get signature() {
      read += 1;
      return Buffer.alloc(64);
    },
  };
  const published = { current: async () => keys, refreshed: async () => keys };
  expect(await verifyByRemoteKeys(jws, "https://agent.example.test/keys", published)).toBe("signature_wrong");
  expect(read).toBe(1);
});
