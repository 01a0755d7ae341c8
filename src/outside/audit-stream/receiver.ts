import { createHmac } from "node:crypto";
import { once } from "node:events";
import { connect, isIP } from "node:net";
import { setTimeout } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import type { AuditEntry } from "../../audit.ts";
import type { Clock } from "../../clock.ts";

/** A sealed record of the audit trail. `at` is seconds since the epoch, with milliseconds. */
export type SealedEntry = AuditEntry & {
  readonly id: string;
  readonly at: number;
  readonly link: { readonly seq: number; readonly hash: string };
};

/** A request over HTTP that hands records over. */
export interface Delivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A record as receivers get it, with the members that docs/events.md lists. */
function eventOf({ id, at, link, notAfter: _, ...entry }: SealedEntry): Readonly<Record<string, unknown>> {
  return { id, seq: link.seq, hash: link.hash, at: new Date(at * 1000).toISOString(), ...entry };
}

/** JSON in ASCII, so that a syslog message needs no byte order mark. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Facility 13, log audit; severity 6, informational, or 4, warning (RFC 5424 §6.2.1). */
const priority = (outcome: SealedEntry["outcome"]): number => 13 * 8 + (outcome === "success" ? 6 : 4);

/** The largest `sequenceId` (RFC 5424 §7.3.1); after it the next one is 1. */
const SEQUENCES = 2_147_483_647;

/** One RFC 5424 message, framed by its length for a stream. @see RFC 5425 §4.3, RFC 6587 §3.4.1 */
export function syslogFrame(entry: SealedEntry, host: string): string {
  const event = eventOf(entry);
  const sequence = ((entry.link.seq - 1) % SEQUENCES) + 1;
  const message = `<${priority(entry.outcome)}>1 ${event.at} ${host} countersign - ${entry.event} [meta sequenceId="${sequence}"] ${asciiJson(event)}`;
  return `${message.length} ${message}`;
}

/** The key of a secret: `whsec_` and base64, as Standard Webhooks writes secrets, or any other text as it is. */
const webhookKey = (secret: string) => (secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : secret);

/**
 * A webhook, signed as Standard Webhooks 1.0 describes. Its id names the records, of which a repetition may have fewer. By the hash, records
 * that follow the restore of a database have another id than those that had their numbers before, which receivers would take for repeated.
 * @param secret at least 16 bytes of text  @param now seconds since the epoch
 */
export function webhookDelivery(entries: readonly SealedEntry[], issuer: string, secret: string, now: number): Delivery {
  const body = JSON.stringify({ type: "audit.records", issuer, records: entries.map(eventOf) });
  const last = entries.at(-1)?.link;
  const id = `audit-${entries[0]?.link.seq}-${last?.seq}-${last?.hash}`;
  const timestamp = String(Math.floor(now));
  const signature = createHmac("sha256", webhookKey(secret)).update(`${id}.${timestamp}.${body}`).digest("base64");
  const signed = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
  return { headers: { "content-type": "application/json", ...signed }, body };
}

const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });

/** OTLP/HTTP with JSON, for `/v1/logs` of a collector. @see the OpenTelemetry protocol 1.x, logs data model */
export function otlpDelivery(entries: readonly SealedEntry[], issuer: string, token: string | undefined): Delivery {
  const logRecords = entries.map((entry) => ({
    timeUnixNano: `${Math.round(entry.at * 1000)}000000`,
    severityNumber: entry.outcome === "success" ? 9 : 13, // INFO, WARN
    severityText: entry.outcome === "success" ? "INFO" : "WARN",
    eventName: entry.event,
    body: { stringValue: JSON.stringify(eventOf(entry)) },
    attributes: [
      attribute("event.name", entry.event),
      attribute("log.record.uid", entry.id),
      attribute("countersign.outcome", entry.outcome),
      ...(entry.userId === undefined ? [] : [attribute("user.id", entry.userId)]),
      ...(entry.clientId === undefined ? [] : [attribute("countersign.client.id", entry.clientId)]),
      ...(entry.reason === undefined ? [] : [attribute("countersign.reason", entry.reason)]),
    ],
  }));
  const resource = { attributes: [attribute("service.name", "countersign"), attribute("countersign.issuer", issuer)] };
  return {
    headers: { "content-type": "application/json", ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ scope: { name: "countersign.audit" }, logRecords }] }] }),
  };
}

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
/** The longest answer of a collector; it has a message at most. */
const ANSWER_BYTES = 65_536;
/** Milliseconds in which a connection shows that the other end had closed it before the records came: more than their way there and back. */
const ROUND_TRIP = 250;
/**
 * Milliseconds in which a receiver that has all records closes its end too. A proxy that still looks for its receiver, and drops what it
 * holds when it finds none, takes longer: HAProxy three seconds.
 */
const CLOSING = 2_000;

/** Why a batch was not taken. Its message names neither address nor secret. */
class NotTaken extends Error {
  override readonly name = "NotTaken";
  readonly code: string;
  /** Seconds for which the receiver wants no more. */
  readonly retryAfter: number;

  constructor(code: string, cause?: unknown, retryAfter = 0) {
    super("the receiver did not take the records", { cause });
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/**
 * One connection for each batch: syslog acknowledges nothing, but a receiver that closes after the last byte has read all of them; the kernel
 * resets a connection with unread bytes. So this side ends later: what is closed before that, as by a proxy whose receiver is down, counts as not taken.
 */
async function sendSyslog({ url, issuer }: ReceiverSettings, entries: readonly SealedEntry[]): Promise<void> {
  const { protocol, hostname, port } = new URL(url);
  const secure = protocol === "syslogs:";
  const address = {
    host: hostname.replaceAll(/[[\]]/g, ""),
    port: Number(port || (secure ? 6514 : 514)),
    signal: AbortSignal.timeout(PATIENCE),
  };
  const socket = secure ? connectTls({ ...address, ...(isIP(address.host) === 0 && { servername: address.host }) }) : connect(address);
  try {
    const host = new URL(issuer).hostname;
    const timeout = AbortSignal.timeout(PATIENCE);
    const closed = once(socket, "close", { signal: timeout });
    closed.catch(() => undefined); // awaited below, unless an error comes first
    await once(socket, secure ? "secureConnect" : "connect", { signal: timeout });
    const sent = Promise.withResolvers<unknown>();
    socket.resume().write(entries.map((entry) => syslogFrame(entry, host)).join(""), sent.resolve);
    await Promise.race([sent.promise, closed]);
    await setTimeout(ROUND_TRIP);
    if (socket.readableEnded) throw new NotTaken("closed_early");
    socket.end();
    void setTimeout(CLOSING, undefined, { ref: false }).then(() => socket.destroy(new NotTaken("closed_late")));
    await closed;
  } catch (error) {
    throw error instanceof NotTaken ? error : new NotTaken("connection", error);
  } finally {
    socket.destroy();
  }
}

const unconnected = (error: unknown): never => {
  throw new NotTaken("connection", error);
};

/** @returns an answer of success, whose body the caller reads or cancels */
async function post(url: string, { headers, body }: Delivery, clock: Clock): Promise<Response> {
  const signal = AbortSignal.timeout(PATIENCE);
  const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal }).catch(unconnected);
  if (response.ok) return response;
  await response.body?.cancel();
  throw new NotTaken(`status_${response.status}`, undefined, secondsOf(response.headers.get("retry-after") ?? "", clock()));
}

/** Seconds from now until the time of a `Retry-After`; 0 for none. @see RFC 9110 §10.2.3 */
function secondsOf(retryAfter: string, now: number): number {
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : Date.parse(retryAfter) / 1000 - now;
  return seconds > 0 ? seconds : 0;
}

async function sendWebhook(url: string, delivery: Delivery, clock: Clock): Promise<void> {
  const response = await post(url, delivery, clock);
  await response.body?.cancel();
}

/**
 * A collector can answer 200 and say how many records it rejected. The batch counts as not taken then: no record may be lost without notice.
 * @see the OpenTelemetry protocol 1.x, partial success
 */
async function sendOtlp(url: string, delivery: Delivery, clock: Clock): Promise<void> {
  const response = await post(url, delivery, clock);
  if (/"rejectedLogRecords"\s*:\s*"?[1-9]/.test(await answerOf(response))) throw new NotTaken("records_rejected");
}

/** The text of a response. One that is longer does not count as taken, for it may reject records in its rest. */
async function answerOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body ?? []) {
      size += chunk.length;
      if (size > ANSWER_BYTES) throw new NotTaken("answer_too_large"); // leaving the loop closes the connection
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof NotTaken ? error : new NotTaken("connection", error);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The receiver at the address of AUDIT_STREAM. */
export function receiverOf(settings: ReceiverSettings): Receiver {
  const { url, secret, issuer, clock } = settings;
  if (url.startsWith("syslog")) return (entries) => sendSyslog(settings, entries);
  if (url.startsWith("otlp+")) return (entries) => sendOtlp(url.slice("otlp+".length), otlpDelivery(entries, issuer, secret), clock);
  return (entries) => sendWebhook(url, webhookDelivery(entries, issuer, secret ?? "", clock()), clock);
}
