import { afterAll, beforeEach, expect, test } from "vitest";
import { createGuard } from "../../../guard-sdk/src/index.ts";
import { anIssuerKey, signToken, startIssuer } from "../../support/guard-issuer.ts";
import { refusalOf } from "../../support/guard-refusal.ts";

const RESOURCE = "https://notes.example/mcp";
const issuer = await startIssuer();
afterAll(issuer.close);

let now: number;
let elapsed: number;
const aGuard = (tokenCacheSize = 1000) =>
  createGuard({
    resource: RESOURCE,
    authorizationServers: [issuer.issuer],
    tokenCacheSize,
    clocks: { now: () => now, elapsed: () => elapsed },
  });

beforeEach(() => {
  now = Math.floor(Date.now() / 1000);
  elapsed = 0;
  issuer.publish(issuer.key.jwk);
});

test("a token seen before yields the same principal, until it expires", async () => {
  const guard = aGuard();
  const token = await issuer.token(RESOURCE);
  const principal = await guard.verifyToken(token);
  expect(await guard.verifyToken(token)).toBe(principal);
  now += 310; // the issuer's second may be a later one
  expect(await refusalOf(() => guard.verifyToken(token))).toEqual(["invalid_token", "token_expired"]);
});

test("without a cache every token is verified again", async () => {
  const guard = aGuard(0);
  const token = await issuer.token(RESOURCE);
  expect(await guard.verifyToken(token)).not.toBe(await guard.verifyToken(token));
});

test("a cached token is refused once its key is withdrawn", async () => {
  const guard = aGuard();
  const token = await issuer.token(RESOURCE);
  await guard.verifyToken(token);
  issuer.publish((await anIssuerKey("second")).jwk);
  elapsed = 60;
  await refusalOf(() => guard.verifyToken("x")); // not a JWT, so it causes no fetch
  expect((await guard.verifyToken(token)).sub).toBe("ada");
  const unknown = await signToken(issuer.issuer, RESOURCE, await anIssuerKey("third"));
  expect(await refusalOf(() => guard.verifyToken(unknown))).toEqual(["invalid_token", "key_unknown"]);
  expect(await refusalOf(() => guard.verifyToken(token))).toEqual(["invalid_token", "key_unknown"]);
});

test("a cached token is refused once its key is replaced under the same kid", async () => {
  const guard = aGuard();
  const token = await issuer.token(RESOURCE);
  await guard.verifyToken(token);
  issuer.publish({ ...(await anIssuerKey("first")).jwk });
  elapsed = 60;
  const unknown = await signToken(issuer.issuer, RESOURCE, await anIssuerKey("third"));
  await refusalOf(() => guard.verifyToken(unknown));
  expect(await refusalOf(() => guard.verifyToken(token))).toEqual(["invalid_token", "signature_invalid"]);
});

test("a token that is invalid by its claims causes no request to the issuer", async () => {
  const guard = aGuard();
  const before = issuer.requests.length;
  const now = Math.floor(Date.now() / 1000);
  for (const claims of [{ aud: "https://other.example" }, { exp: now - 1 }, { iss: "https://evil.test" }]) {
    expect((await refusalOf(async () => guard.verifyToken(await issuer.token(RESOURCE, { claims }))))[0]).toBe("invalid_token");
  }
  expect(issuer.requests.length).toBe(before);
});

test("a signature by another key, a changed claim and a changed signature are refused", async () => {
  const guard = aGuard();
  const forged = await issuer.token(RESOURCE, { key: await anIssuerKey("first") });
  const good = await issuer.token(RESOURCE);
  const [header, payload, signature] = good.split(".");
  const claims = JSON.parse(Buffer.from(payload!, "base64url").toString());
  const changed = [header, Buffer.from(JSON.stringify({ ...claims, sub: "eve" })).toString("base64url"), signature].join(".");
  const flipped = `${good.slice(0, -20)}${good.at(-20) === "A" ? "B" : "A"}${good.slice(-19)}`;
  for (const token of [forged, changed, flipped]) {
    expect(await refusalOf(() => guard.verifyToken(token))).toEqual(["invalid_token", "signature_invalid"]);
  }
});

test("a token verifies only with the keys of its own issuer", async () => {
  const second = await startIssuer();
  const guard = createGuard({ resource: RESOURCE, authorizationServers: [issuer.issuer, second.issuer] });
  expect((await guard.verifyToken(await second.token(RESOURCE))).issuer).toBe(second.issuer);
  const crossed = await signToken(issuer.issuer, RESOURCE, second.key);
  expect(await refusalOf(() => guard.verifyToken(crossed))).toEqual(["invalid_token", "signature_invalid"]);
  await second.close();
});

test("onRefusal gets the code and reason of each refusal", async () => {
  const refusals: string[] = [];
  const guard = createGuard({
    resource: RESOURCE,
    authorizationServers: [issuer.issuer],
    onRefusal: ({ code, reason }) => refusals.push(`${code} ${reason}`),
  });
  await guard.admit({ authorization: [], query: "" });
  await refusalOf(() => guard.verifyToken("x"));
  await guard.admit({ authorization: [`Bearer ${await issuer.token(RESOURCE)}`], query: "" }, ["notes:write"]);
  expect(refusals).toEqual(["no_credentials header_missing", "invalid_token token_malformed", "insufficient_scope scope_missing"]);
});
