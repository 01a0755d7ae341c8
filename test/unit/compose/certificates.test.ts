import { afterEach, expect, test, vi } from "vitest";
import { reportingCertificates } from "../../../src/compose/deployment.ts";
import type { Config } from "../../../src/config.ts";
import type { LogFields } from "../../../src/telemetry/log.ts";

const DAY = 86_400;

afterEach(() => void vi.useRealTimers());

test("a certificate of a process that runs for long is logged each day from 14 days before its end on, and after it", async () => {
  vi.useFakeTimers();
  const now = Math.floor(Date.now() / 1_000);
  const certificates: Config["certificates"] = [
    { setting: "GRPC_TLS_CERT", expiresAt: now + 16 * DAY },
    { setting: "TOKEN_CORE_CA", expiresAt: now + 400 * DAY },
  ];
  const warned: LogFields[] = [];
  const measured: unknown[] = [];
  const stop = reportingCertificates(
    { certificates },
    { certificateExpiry: (...series) => void measured.push(series) },
    { warn: (event, fields) => void (event === "certificate_expires" && fields && warned.push(fields)) },
    (error) => expect(error).toBeUndefined(),
  );
  expect(measured).toEqual(certificates.map(({ setting, expiresAt }) => [setting, expiresAt]));
  await vi.advanceTimersByTimeAsync(2 * DAY * 1_000);
  expect(warned).toEqual([]);
  await vi.advanceTimersByTimeAsync(15 * DAY * 1_000);
  const expected = Array.from({ length: 15 }, (_, day) => ({ setting: "GRPC_TLS_CERT", seconds: (13 - day) * DAY }));
  expect(warned).toEqual(expected);
  await stop();
  await vi.advanceTimersByTimeAsync(2 * DAY * 1_000);
  expect(warned).toEqual(expected);
});
