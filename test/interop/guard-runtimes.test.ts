import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { afterAll, describe, expect } from "vitest";
import { keyFor } from "../support/assertions.ts";
import { aProof } from "../support/dpop.ts";
import { basicAuth } from "../support/flow.ts";
import { AS_RESOURCE_SERVER, RESOURCE } from "../support/guard-modes.ts";
import { packed, scratch, unpack } from "../support/packed.ts";
import { runtimes } from "../support/runtimes.ts";
import { PROVISIONED, type TestServer, testOn } from "../support/server.ts";

const READER = {
  clientId: "notes-reader",
  clientSecret: "notes-reader-secret",
  name: "Notes reader",
  tokenEndpointAuthMethod: "client_secret_basic",
  grantTypes: ["client_credentials"],
  scopes: ["notes:read"],
  audience: [RESOURCE],
};
const test = testOn({ provision: { ...PROVISIONED, clients: [...PROVISIONED.clients, READER] } });
const { dir, remove } = scratch();
const children: ChildProcess[] = [];
afterAll(async () => {
  for (const child of children) if (child.kill("SIGKILL") && child.exitCode === null) await once(child, "exit");
  remove();
});
const { servers } = await runtimes();
await unpack(dir, { "@countersign/guard": await packed("guard-sdk") }, ["jose", "@grpc/grpc-js", "@bufbuild/protobuf"]);
copyFileSync(join(import.meta.dirname, "../runtimes/server.mjs"), join(dir, "server.mjs"));

/** Runs the guarded server in a runtime. @returns its ports, by the kind of server */
async function start([file, ...args]: readonly [string, ...string[]], { url, grpc }: TestServer): Promise<Record<string, number>> {
  const { clientId, clientSecret } = AS_RESOURCE_SERVER;
  const settings = { ISSUER: url, GRPC: `http://${grpc}`, RESOURCE, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret };
  const child = spawn(file, [...args, "server.mjs"], {
    cwd: dir,
    env: { ...process.env, ...settings },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const said = await Promise.race([once(child.stdout, "data"), once(child, "exit").then(([code]) => Promise.reject(new Error(`${code}`)))]);
  return JSON.parse(String(said[0]));
}

/** Sends two Authorization fields in one request, which fetch cannot do. */
async function statusOfTwoCredentials(port: number, token: string): Promise<number | undefined> {
  const field = ["authorization", `Bearer ${token}`];
  const headers = ["host", `127.0.0.1:${port}`, ...field, ...field];
  const asked = request({ port, host: "127.0.0.1", path: "/local", headers });
  const [response] = (await once(asked.end(), "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

/** The status of a request with a bound token and a proof by an algorithm, once it has the guard's nonce. */
async function statusOfBound(server: TestServer, port: number, alg: Parameters<typeof keyFor>[0]): Promise<number> {
  const key = keyFor(alg);
  const fields = { grant_type: "client_credentials", scope: "notes:read" };
  const dpop = aProof(key, { url: `${server.url}/oauth/token` });
  const headers = { authorization: basicAuth(READER.clientId, READER.clientSecret), dpop };
  const accessToken: string = (await server.form("/oauth/token", fields, headers)).body.access_token;
  const send = (nonce: string | null) => {
    const proof = aProof(key, { url: new URL("/local", RESOURCE).href, method: "GET", accessToken, claims: { nonce } });
    return fetch(`http://127.0.0.1:${port}/local`, { headers: { authorization: `DPoP ${accessToken}`, dpop: proof } });
  };
  const refused = await send(null);
  return (await send(refused.headers.get("dpop-nonce"))).status;
}

const TITLE = "the installed guard accepts valid tokens and refuses others, with each kind of verification";

describe.for(Object.entries(servers))("on %s", ([runtime, command]) => {
  test.skipIf(command === undefined)(command === undefined ? `missing toolchain: ${runtime}` : TITLE, async ({ server }) => {
    const ports = await start(command!, server);
    const { browser, id } = await server.signedInUser();
    const tokenFor = async (scope: string, resource = RESOURCE) =>
      (await server.tokens(server.clients.web, browser, { scope, resource })).access_token as string;
    const tokens = [await tokenFor("notes:read"), await tokenFor("notes:write"), await tokenFor("notes:read", "https://b.example.test")];
    const [good = "", poor, foreign] = tokens;
    for (const [kind, port] of Object.entries(ports)) {
      const call = async (path: string, token?: string) => {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
        return { status: response.status, challenge: response.headers.get("www-authenticate") ?? "", body: await response.text() };
      };
      for (const path of ["/local", "/introspection", "/grpc", "/revocations"]) {
        const { status, body } = await call(path, good);
        expect([kind, path, status]).toEqual([kind, path, 200]);
        expect(body.toLowerCase()).not.toMatch(/authorization|bearer|eyj/);
        expect(JSON.parse(body).principal).toMatchObject({
          sub: id,
          clientId: "web",
          scopes: ["notes:read"],
          actors: [],
          audience: [RESOURCE],
        });
        const answers = [await call(path), await call(path, poor), await call(path, foreign)];
        expect(answers.map((answer) => [answer.status, /error="(\w+)"/.exec(answer.challenge)?.[1]])).toEqual([
          [401, undefined],
          [403, "insufficient_scope"],
          [401, "invalid_token"],
        ]);
      }
      expect([kind, await statusOfTwoCredentials(port, good)]).toEqual([kind, 400]);
      for (const alg of ["ES256", "PS256", "EdDSA"] as const)
        expect([kind, alg, await statusOfBound(server, port, alg)]).toEqual([kind, alg, 200]);
      const mine = await tokenFor("notes:read");
      expect((await call("/revocations", mine)).status).toBe(200);
      await server.revoke(server.clients.web, mine);
      await expect.poll(async () => (await call("/revocations", mine)).status, { timeout: 60_000 }).toBe(401);
    }
  });
});
