import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { remoteTokenCore } from "../../../src/grpc/core-client.ts";
import { type GrpcListener, startGrpcListener } from "../../../src/grpc/listener.ts";
import { localTokenCore } from "../../../src/grpc/local.ts";
import { smallCore } from "./small-core.ts";

/** Made for these tests: an authority, a core and a front of its, and a stranger of another authority. */
const pem = (name: string): string => readFileSync(new URL(`certificates/${name}`, import.meta.url), "utf8");
const ca = pem("ca.pem");
const front = { cert: pem("front.pem"), key: pem("front.key") };
const stranger = { cert: pem("stranger.pem"), key: pem("stranger.key") };

describe.each([
  { name: "with client certificates", secret: undefined, clientCa: ca },
  { name: "with client certificates and a secret", secret: "a-secret", clientCa: ca },
  { name: "with a secret", secret: "a-secret", clientCa: undefined },
])("a core over TLS, $name", ({ secret, clientCa }) => {
  let listener: GrpcListener;
  beforeAll(async () => {
    const core = localTokenCore(smallCore().implementation);
    const tls = { cert: pem("core.pem"), key: pem("core.key"), clientCa };
    listener = await startGrpcListener({ host: "127.0.0.1", port: 0, core, tls, fronts: { secret }, onFault: () => undefined });
  });
  afterAll(() => listener.close(0));

  /** Whether a front that shows this is let in. */
  async function letIn(shown: { secret?: string | undefined; tls?: object }): Promise<boolean> {
    const core = remoteTokenCore({ url: `https://localhost:${listener.port}`, secret: shown.secret, tls: { ca, ...shown.tls } });
    try {
      const answered: boolean[] = [];
      for (let i = 0; i < 3; i += 1) answered.push(await core.ready()); // by a unary call first, later by the stream
      expect(new Set(answered).size).toBe(1);
      return answered[0] === true;
    } finally {
      await core.close();
    }
  }

  test("a front with the secret is let in, with another never", async () => {
    expect(await letIn({ secret: "a-secret" })).toBe(secret !== undefined);
    expect(await letIn({ secret: "another" })).toBe(false);
    expect(await letIn({ secret: "another", tls: front })).toBe(false);
  });

  test("a front with a certificate of the authority is let in where one is configured, any other certificate never", async () => {
    expect(await letIn({ tls: front })).toBe(clientCa !== undefined);
    expect(await letIn({ tls: stranger })).toBe(false);
    expect(await letIn({})).toBe(false);
  });

  test("a front that does not trust the core's certificate does not speak to it", async () => {
    const core = remoteTokenCore({ url: `https://localhost:${listener.port}`, secret: "a-secret" });
    const thrown = await core.publicKeys({}).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Refusal);
    expect((thrown as Refusal).code).toBe("temporarily_unavailable");
    await core.close();
  });
});
