import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { remoteTokenCore } from "../../../src/grpc/core-client.ts";
import { type GrpcListener, startGrpcListener } from "../../../src/grpc/listener.ts";
import { localTokenCore } from "../../../src/grpc/local.ts";
import { keptLog, smallCore } from "./small-core.ts";

/** Certificates of a core and a front by one authority, and of a stranger by another. */
const pem = (name: string): string => readFileSync(new URL(`certificates/${name}`, import.meta.url), "utf8");
const ca = pem("ca.pem");
const front = { cert: pem("front.pem"), key: pem("front.key") };
const stranger = { cert: pem("stranger.pem"), key: pem("stranger.key") };

describe.each([
  { name: "with client certificates", secret: undefined, clientCa: ca },
  { name: "with client certificates and a secret", secret: "a-secret", clientCa: ca },
  { name: "with a secret", secret: "a-secret", clientCa: undefined },
])("a core over TLS $name", { concurrent: true }, ({ secret, clientCa }) => {
  let listener: GrpcListener;
  beforeAll(async () => {
    const core = localTokenCore(smallCore().implementation);
    const tls = { cert: pem("core.pem"), key: pem("core.key"), clientCa };
    listener = await startGrpcListener({ host: "127.0.0.1", port: 0, core, tls, fronts: { secret }, onFault: () => undefined });
  });
  afterAll(() => listener.close(0));

  /** Whether a front with these credentials is admitted. A call that is late on a busy machine is no answer, and is made again. */
  async function isAdmitted(shown: { secret?: string | undefined; tls?: object }): Promise<boolean> {
    const { log, lines } = keptLog();
    const address = { url: `https://localhost:${listener.port}`, secret: shown.secret, tls: { ca, ...shown.tls } };
    const core = remoteTokenCore(address, undefined, undefined, log);
    const answers: boolean[] = [];
    const ask = async () => {
      const thrown = await core.publicKeys({}).then(
        () => undefined,
        (error: Refusal) => error,
      );
      if (thrown === undefined || thrown.reason === "front_not_admitted") answers.push(thrown === undefined);
      expect(answers).toHaveLength(3); // a unary call first, later calls by the stream
    };
    try {
      await vi.waitFor(ask, { timeout: 60_000, interval: 1 });
    } finally {
      await core.close();
    }
    const isRefused = lines.some((line) => isDeepStrictEqual(line, ["core_away", { reason: "front_not_admitted" }]));
    expect(answers).toEqual(answers.map(() => !isRefused));
    return !isRefused;
  }

  test("admits a front with the secret where one is configured, and none with another secret", async () => {
    const shown = [{ secret: "a-secret" }, { secret: "another" }, { secret: "another", tls: front }];
    expect(await Promise.all(shown.map(isAdmitted))).toEqual([secret !== undefined, false, false]);
  });

  test("admits a front with a certificate of the authority where one is configured, and none with another certificate", async () => {
    expect(await Promise.all([{ tls: front }, { tls: stranger }, {}].map(isAdmitted))).toEqual([clientCa !== undefined, false, false]);
  });

  test("is not called by a front that does not trust its certificate", async () => {
    const { log, lines } = keptLog();
    const core = remoteTokenCore({ url: `https://localhost:${listener.port}`, secret: "a-secret" }, undefined, undefined, log);
    const thrown = await core.publicKeys({}).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Refusal);
    expect((thrown as Refusal).code).toBe("temporarily_unavailable");
    await vi.waitFor(async () => {
      await core.publicKeys({}).catch(() => undefined);
      // On a busy machine a call may be given up before its handshake has failed.
      expect(lines.at(-1)).toEqual(["core_away", { reason: "core_unavailable", code: expect.stringMatching(/certificate/) }]);
    }, 60_000);
    await core.close();
  });

  test("is known to be away to a front that speaks no TLS", async () => {
    const { log, lines } = keptLog();
    const core = remoteTokenCore({ url: `http://localhost:${listener.port}`, secret: "a-secret" }, undefined, undefined, log);
    await vi.waitFor(async () => {
      await core.publicKeys({}).catch(() => undefined);
      expect(lines).toEqual([["core_away", { reason: "core_unavailable", code: "no_answer" }]]);
    }, 60_000);
    await core.close();
  });
});
