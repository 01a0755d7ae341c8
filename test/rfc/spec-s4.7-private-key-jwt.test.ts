import { afterAll, beforeAll, expect, test } from "vitest";
import { compose, type Running } from "../../src/compose.ts";
import { loadConfig } from "../../src/config.ts";
import { ASSERTION_TYPE, anAssertion, keyFor, type TestKey } from "../support/assertions.ts";
import { asAnswer, basicAuth, claimsOf, formBody } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { type Publisher, publisher } from "../support/publisher.ts";
import { describe, startServer, type TestServer } from "../support/server.ts";

const key = keyFor("EdDSA", "k1");
const rsa = keyFor("RS256", "r1");
const grant = { grant_type: "client_credentials", scope: "notes:read" };

/** Clients whose keys are fetched while hosts are silent: one for each try. */
const PATIENT = ["patient-1", "patient-2", "patient-3", "patient-4", "patient-5"];

let site: Publisher;
let server: TestServer;

beforeAll(async () => {
  site = await publisher();
  site.serveJson({ keys: [rsa.jwk] });
  const client = {
    grantTypes: ["client_credentials"],
    scopes: ["notes:read"],
    tokenEndpointAuthMethod: "private_key_jwt",
    environment: "production",
  };
  server = await startServer({
    provision: {
      clients: [
        { ...client, clientId: "robot", name: "Robot", jwks: { keys: [key.jwk] } },
        { ...client, clientId: "remote-robot", name: "Remote robot", jwksUri: `https://localhost:${site.port}/jwks.json` },
        ...PATIENT.map((clientId) => ({
          ...client,
          clientId,
          name: "Patient",
          jwksUri: `https://localhost:${site.port}/${clientId}.json`,
        })),
        { ...client, clientId: "secretive", name: "Secretive", tokenEndpointAuthMethod: "client_secret_basic", clientSecret: "s3cret" },
      ],
    },
  });
});
afterAll(async () => {
  await server.close();
  await site.close();
});

const made = (claims: object = {}, header: object = {}, by: TestKey = key, clientId = "robot") =>
  anAssertion(by, { clientId, audience: server.url, now: Math.floor(Date.now() / 1000), claims, header });
const by = (assertion: string) => ({ client_assertion_type: ASSERTION_TYPE, client_assertion: assertion });
const token = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  server.form("/oauth/token", { ...grant, ...fields }, headers);

describe("docs/protocol.md#client-assertions", () => {
  test("a client authenticates with only an assertion; a client_id beside it is optional and must match", async () => {
    const { status, body } = await token(by(made()));
    expect(status).toBe(200);
    expect(claimsOf(body.access_token).sub).toBe("robot");
    expect((await token({ ...by(made()), client_id: "robot" })).status).toBe(200);
    expect((await token({ ...by(made()), client_id: "remote-robot" })).status).toBe(401);
  });

  test("RFC 7519 §2: accepts times with fractions of seconds", async () => {
    const now = Date.now() / 1_000 + 0.25;
    expect((await token(by(made({ iat: now, nbf: now, exp: now + 60 })))).status).toBe(200);
  });

  test("accepts an RS256 assertion by a key at the registered jwks_uri", async () => {
    const before = site.requests().length;
    for (let round = 0; round < 3; round++) {
      expect((await token(by(made({}, {}, rsa, "remote-robot")))).status).toBe(200);
    }
    expect(site.requests().length - before).toBe(1);
  });

  test("every failure returns the same 401 invalid_client; only an unknown client_assertion_type is described", async () => {
    const stranger = keyFor("EdDSA", "k1");
    const answers = await Promise.all(
      [
        by(made({ aud: `${server.url}/oauth/token` })),
        by(made({ aud: [server.url, "https://other.example.test"] })),
        by(made({ aud: undefined })),
        by(made({ exp: 1 })),
        by(made({ jti: undefined })),
        by(made({}, {}, stranger)),
        by(made({}, { typ: "at+jwt" })),
        by(made({}, {}, key, "unknown")),
        by("rubbish"),
        { ...by(made()), client_assertion_type: "urn:other" },
        { client_assertion: made() },
        { client_assertion_type: ASSERTION_TYPE },
      ].map((fields) => token(fields)),
    );
    for (const { status, headers } of answers) {
      expect(status).toBe(401);
      expect(headers.get("www-authenticate")).toMatch(/^Basic realm=/);
    }
    const types = answers.splice(9, 2);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body)))).toEqual(new Set(['{"error":"invalid_client"}']));
    for (const { body } of types)
      expect(body).toEqual({ error: "invalid_client", error_description: expect.stringMatching(/^client_assertion_type must be urn:/) });
  });

  test("abuse 27: refuses an assertion beside another method", async () => {
    const basic = { authorization: basicAuth("secretive", "s3cret") };
    expect((await token(by(made()), basic)).status).toBe(401);
    expect((await token({ ...by(made()), client_secret: "s3cret", client_id: "robot" })).status).toBe(401);
    expect((await token({ client_id: "secretive", client_secret: "s3cret", ...by("e30.e30.") })).status).toBe(401);
    expect((await token({}, basic)).status).toBe(200);
  });

  test("abuse 28: refuses a method other than the registered one", async () => {
    expect((await token(by(made({}, {}, key, "secretive")))).status).toBe(401);
    expect((await token({}, { authorization: basicAuth("robot", "s3cret") })).status).toBe(401);
    expect((await token({ client_id: "robot", client_secret: "s3cret" })).status).toBe(401);
    expect((await token({ client_id: "robot" })).status).toBe(401);
  });

  test("abuse 33: refuses key material in the header and fetches no keys", async () => {
    const before = site.connections();
    const uri = `https://localhost:${site.port}/evil.json`;
    for (const header of [{ jku: uri }, { x5u: uri }, { jwk: key.jwk }, { x5c: ["MII"] }]) {
      expect((await token(by(made({}, header)))).body).toEqual({ error: "invalid_client" });
    }
    expect(site.connections()).toBe(before);
  });

  test("docs/protocol.md#client-authentication: introspection and revocation refuse assertions", async () => {
    for (const path of ["/oauth/introspect", "/oauth/revoke"]) {
      const answer = await server.form(path, { token: "x", ...by(made()) });
      expect([answer.status, answer.body.error]).toEqual([401, "invalid_client"]);
    }
  });

  test("abuse 30: refuses an assertion that is sent a second time", async () => {
    const assertion = made();
    expect((await token(by(assertion))).status).toBe(200);
    expect((await token(by(assertion))).status).toBe(401);
  });
});

test("metadata documents whose keys are at a silent host do not delay the keys of a registered client", async () => {
  let silent = 0;
  let allAsked = Promise.withResolvers<void>();
  site.serve((request, response) => {
    const clientId = `https://localhost:${site.port}${request.url}`;
    if (request.url?.startsWith("/silent")) return void (++silent === 8 && allAsked.resolve());
    const document = { client_id: clientId, client_name: "Silent", redirect_uris: ["https://app.example.test/cb"] };
    const served = request.url?.startsWith("/client")
      ? { ...document, jwks_uri: clientId.replace("/client", "/silent") }
      : { keys: [rsa.jwk] };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(served));
  });
  const push = (clientId: string) => server.form("/oauth/par", by(made({}, {}, key, clientId)));
  /** The first answer: of the registered client, or of one whose keys were waited for in vain. */
  const firstAnswer = async (robot: string) => {
    [silent, allAsked] = [0, Promise.withResolvers()];
    const pushes = Array.from({ length: 8 }, (_, n) => push(`https://localhost:${site.port}/client-${robot}-${n}`));
    await Promise.race([allAsked.promise, Promise.all(pushes)]);
    const first = await Promise.race([...pushes, token(by(made({}, {}, rsa, robot)))]);
    const refused = (await Promise.all(pushes)).map(({ status }) => status);
    for (const status of refused) expect([401, 503]).toContain(status); // 503: the core was not done in time
    return [first.status, first.body.token_type, refused.includes(401)];
  };
  const answers = [];
  // A busy machine may need longer for one client than the others wait in vain.
  for (const robot of PATIENT) if (answers.push(await firstAnswer(robot)) && answers.at(-1)?.[0] === 200 && answers.at(-1)?.[2]) break;
  expect(answers.at(-1)).toEqual([200, "Bearer", true]);
  site.serveJson({ keys: [rsa.jwk] });
});

describe("over two fronts", () => {
  let second: Running;
  let secondUrl: string;

  beforeAll(async () => {
    const [port, grpcPort] = [await freePort(), await freePort()];
    secondUrl = `http://localhost:${port}`;
    const config = loadConfig({
      NODE_ENV: "test",
      PORT: String(port),
      GRPC_PORT: String(grpcPort),
      JWT_ISSUER: server.url.replace(/\/$/, ""),
      DATA_DIR: server.dataDir,
      LOG_LEVEL: "silent",
    });
    second = await compose(config, "all", { database: server.database });
  });
  afterAll(() => second.close(0));

  test("abuse 30: 64 concurrent uses of one assertion: exactly one gets a token", async () => {
    const assertion = made();
    const answers = await Promise.all(
      Array.from({ length: 64 }, async (_, index) => {
        const url = new URL("/oauth/token", index % 2 === 0 ? server.url : secondUrl);
        return asAnswer(await fetch(url, { method: "POST", body: formBody({ ...grant, ...by(assertion) }) }));
      }),
    );
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, ...Array.from({ length: 63 }, () => 401)]);
  });
});
