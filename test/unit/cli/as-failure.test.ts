import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createAdminClient } from "@countersign/admin";
import { expect, onTestFinished, test } from "vitest";
import { asFailure } from "../../../src/cli/as-failure.ts";
import { boundedWeb } from "../../../src/cli/doctor/web.ts";
import { request } from "../../../src/cli/failure.ts";

/** The error of a call that a server refuses. */
async function refusal(httpStatus: number, message: string): Promise<unknown> {
  const data = { code: "X", httpStatus, error: "x", message };
  const server = createServer((_, response) =>
    response
      .writeHead(httpStatus, { "content-type": "application/json" })
      .end(JSON.stringify([{ error: { code: -32_003, message, data } }])),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return createAdminClient({ url, token: "t" })
    .account.get.query()
    .catch((error: unknown) => error);
}

const context = { server: "https://id.example.test", email: "ada@example.test", named: ["notes"], takes: new Map<string, string>() };

test.for([
  [403, "This is for operators.", "operator"],
  [403, "Making clients needs the role developer, which an operator gives.", "developer"],
  [403, "Only operators make clients here. Ask one of them for yours.", "operator"],
] as const)("%d %s: says who is signed in, and how to get the role %s", async ([status, message, role]) => {
  expect(asFailure(await refusal(status, message), context).message).toBe(
    `${message} You are signed in as ada@example.test; an operator can give you the role with \`countersign users role ada@example.test ${role}\`.`,
  );
});

test("what was not found is named, with the server", async () => {
  const failure = asFailure(await refusal(404, "Not found."), context);
  expect(failure).toMatchObject({ exitCode: 4, message: "Not found at https://id.example.test: notes." });
});

test("a token that the server no longer accepts, as after its signing key was withdrawn, asks for a new sign-in", async () => {
  const failure = asFailure(await refusal(401, "invalid_token"), context);
  const message = "https://id.example.test does not accept the session of ada@example.test any more. Run `countersign login`.";
  expect(failure).toMatchObject({ exitCode: 3, message });
});

test("a server that gives no reason for a 503 cannot answer right now", async () => {
  const message = "The server cannot answer right now (status 503). Try again later.";
  expect(asFailure(await refusal(503, "temporarily_unavailable"), context)).toMatchObject({ exitCode: 5, message });
});

test("a server that never answers is given up, by calls of the management API and by all others", async () => {
  const server = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const admin = createAdminClient({ url, token: "t", timeout: 50 });
  for (const call of [() => admin.account.get.query(), () => request(url, { method: "POST" }, 50)]) {
    const error = await call().catch((thrown: unknown) => thrown);
    expect(asFailure(error, context)).toMatchObject({ exitCode: 5, message: "The server at https://id.example.test does not answer." });
  }
});

test("a connection that breaks within an answer is one to a server that does not answer", async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": 100 });
    response.write("[", () => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const error = await createAdminClient({ url, token: "t" })
    .account.get.query()
    .catch((thrown: unknown) => thrown);
  expect(asFailure(error, context)).toMatchObject({ exitCode: 5, message: "The server at https://id.example.test does not answer." });
});

test("a server with a certificate of an authority that is not trusted is distinguished from one that does not answer, by commands and doctor", async () => {
  const pem = (name: string) => readFileSync(new URL(`../grpc/certificates/${name}`, import.meta.url));
  const server = createTlsServer({ key: pem("core.key"), cert: pem("core.pem") }, (_, response) => response.end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const call of [() => createAdminClient({ url, token: "t" }).account.get.query(), () => request(url)]) {
    const error = await call().catch((thrown: unknown) => thrown);
    expect(asFailure(error, context)).toMatchObject({
      exitCode: 5,
      message: expect.stringMatching(
        /^The TLS certificate of https:\/\/id\.example\.test is not trusted here \(\w+\)\. NODE_EXTRA_CA_CERTS/,
      ),
    });
  }
  expect((await boundedWeb().get(url)).problem).toContain("its TLS certificate is not trusted here");
  const plain = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
  await once(plain, "listening");
  onTestFinished(() => void plain.close());
  const { port } = plain.address() as AddressInfo;
  expect((await boundedWeb().get(`https://127.0.0.1:${port}`)).problem).toBe("no TLS connection can be made");
});
