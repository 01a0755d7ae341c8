import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../../clock.ts";
import { type Delivery, otlpDelivery, type SealedEntry, syslogFrame, webhookDelivery } from "./formats.ts";

/** Takes records. Resolves when they have arrived as far as the protocol can say; they may arrive again. */
export type Receiver = (entries: readonly SealedEntry[]) => Promise<void>;

export interface ReceiverSettings {
  readonly url: string;
  readonly secret: string | undefined;
  readonly issuer: string;
  readonly clock: Clock;
}

/** Milliseconds for one batch. */
const PATIENCE = 10_000;

/** Why a batch was not taken. Its message names neither address nor secret. */
class NotTaken extends Error {
  override readonly name = "NotTaken";
  readonly code: string;

  constructor(code: string, cause?: unknown) {
    super("the receiver did not take the records", { cause });
    this.code = code;
  }
}

/**
 * One connection for each batch: syslog acknowledges nothing, but a receiver that closes after the last byte has read all of them; the kernel
 * resets a connection with unread bytes.
 */
async function sendSyslog({ url, issuer }: ReceiverSettings, entries: readonly SealedEntry[]): Promise<void> {
  const { protocol, hostname, port } = new URL(url);
  const secure = protocol === "syslogs:";
  const address = {
    host: hostname.replaceAll(/[[\]]/g, ""),
    port: Number(port || (secure ? 6514 : 514)),
    signal: AbortSignal.timeout(PATIENCE),
  };
  const socket = secure ? connectTls({ ...address, servername: address.host }) : connect(address);
  try {
    const host = new URL(issuer).hostname;
    const timeout = AbortSignal.timeout(PATIENCE);
    const closed = once(socket, "close", { signal: timeout });
    closed.catch(() => undefined); // awaited below, unless an error comes first
    await once(socket, secure ? "secureConnect" : "connect", { signal: timeout });
    socket.resume().end(entries.map((entry) => syslogFrame(entry, host)).join(""));
    await closed;
  } catch (error) {
    throw new NotTaken("connection", error);
  } finally {
    socket.destroy();
  }
}

const unconnected = (error: unknown): never => {
  throw new NotTaken("connection", error);
};

/** @returns an answer of success, whose body the caller reads or cancels */
async function post(url: string, { headers, body }: Delivery): Promise<Response> {
  const signal = AbortSignal.timeout(PATIENCE);
  const response = await fetch(url, { method: "POST", headers, body, redirect: "error", signal }).catch(unconnected);
  if (response.ok) return response;
  await response.body?.cancel();
  throw new NotTaken(`status_${response.status}`);
}

async function sendWebhook(url: string, delivery: Delivery): Promise<void> {
  const response = await post(url, delivery);
  await response.body?.cancel();
}

/**
 * A collector can answer 200 and say how many records it rejected. The batch counts as not taken then: no record may be lost without notice.
 * @see the OpenTelemetry protocol 1.x, partial success
 */
async function sendOtlp(url: string, delivery: Delivery): Promise<void> {
  const response = await post(url, delivery);
  const answer = await response.text().catch(unconnected);
  if (/"rejectedLogRecords"\s*:\s*"?[1-9]/.test(answer)) throw new NotTaken("records_rejected");
}

/** The receiver at the address of AUDIT_STREAM. */
export function receiverOf(settings: ReceiverSettings): Receiver {
  const { url, secret, issuer, clock } = settings;
  if (url.startsWith("syslog")) return (entries) => sendSyslog(settings, entries);
  if (url.startsWith("otlp+")) return (entries) => sendOtlp(url.slice("otlp+".length), otlpDelivery(entries, issuer, secret));
  return (entries) => sendWebhook(url, webhookDelivery(entries, issuer, secret ?? "", clock()));
}
