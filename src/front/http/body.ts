import type { IncomingMessage } from "node:http";
import type { Middleware } from "koa";
import { gathering, UNCOUNTED } from "../../body-budget.ts";
import { Refusal, type RefusalCode } from "../../errors.ts";
import { loadOnce } from "../../load-once.ts";
import { assertNoCredentialInQuery, type Form, parseClientCredential, parseForm } from "../../protocol/form.ts";
import { type FrontContext, type HotContext, queryText } from "./routes.ts";
import { OVERLOADED } from "./steps.ts";

/** Bytes. */
const FORM_LIMIT = 64 * 1024;
const JSON_LIMIT = 64 * 1024;
const MAX_DEPTH = 8;
const FORM_TYPE = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Loads koa-body, whose parts for uploads take long to load. */
export const loadBodyReader = loadOnce(() => import("koa-body"));

/**
 * Reads a form body. @throws {Refusal} invalid_request for another media type, invalid UTF-8, NUL or repeated fields; payload_too_large
 *   over 64 KiB; unsupported_media_type for a content coding
 */
export const formBody = async (ctx: FrontContext | HotContext): Promise<Form> => parseForm(await formText(ctx));

/**
 * Reads a client's form and its credentials, which are in the form or the header.
 * @throws {Refusal} as `formBody`, also for a credential in the query; invalid_client
 */
export async function clientForm(ctx: FrontContext | HotContext) {
  assertNoCredentialInQuery(queryText(ctx));
  const text = await formText(ctx);
  const form = parseForm(text);
  return { text, form, client: parseClientCredential(ctx.req.headers.authorization, form, ctx.state.address) };
}

/** Reads the text of a form body, for callers that have their own rule for repeated fields. @throws {Refusal} as `formBody` */
export function formText(ctx: FrontContext | HotContext): Promise<string> {
  return readText(ctx, FORM_TYPE, FORM_LIMIT, "invalid_request");
}

/**
 * Reads a JSON body into values whose objects have no prototype.
 * @param limit bytes  @param mediaTypeCode the error code for another media type
 * @throws {Refusal} unsupported_media_type, invalid_request (no JSON, deeper than 8 levels, NUL or lone surrogates), payload_too_large
 */
export async function jsonBody(ctx: FrontContext, limit = JSON_LIMIT, mediaTypeCode: RefusalCode = "unsupported_media_type") {
  return parseJson(await readText(ctx, JSON_TYPE, limit, mediaTypeCode));
}

/** Reads JSON as `jsonBody` does. @param place where it stands, in words  @throws {Refusal} invalid_request */
export function parseJson(text: string, place = "The body"): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Refusal("invalid_request", "bad_json", { description: `${place} is not valid JSON.`, cause });
  }
  return sanitized(value, 1, place);
}

/** Copies the value into objects that inherit nothing, so that `constructor` and `__proto__` are members like any other. */
function sanitized(value: unknown, depth: number, place: string): unknown {
  if (typeof value === "string") return sanitizedText(value, place);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) throw new Refusal("invalid_request", "json_too_deep", { description: `${place} is nested too deeply.` });
  if (Array.isArray(value)) return value.map((item) => sanitized(item, depth + 1, place));
  const copy: Record<string, unknown> = Object.create(null);
  for (const [name, member] of Object.entries(value)) copy[sanitizedText(name, place)] = sanitized(member, depth + 1, place);
  return copy;
}

function sanitizedText(text: string, place: string): string {
  if (text.includes("\0") || !text.isWellFormed()) {
    throw new Refusal("invalid_request", "unstorable_text", { description: `${place} contains a character that cannot be stored.` });
  }
  return text;
}

/** The body as text. Koa's context is read by koa-body, a hot one directly; the checks around are the same. */
async function readText(ctx: FrontContext | HotContext, type: string, limit: number, mediaTypeCode: RefusalCode): Promise<string> {
  const { req, state } = ctx;
  if (req.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() !== type) throw wrongType(type, mediaTypeCode);
  const coding = req.headers["content-encoding"];
  if (coding !== undefined && coding.trim().toLowerCase() !== "identity") {
    throw new Refusal("unsupported_media_type", "content_encoding", { description: "The body must not be encoded." });
  }
  const length = Number(req.headers["content-length"]); // NaN without one
  if (length > limit) throw tooLarge();
  // Reading begins in this turn: what is counted is lost to listeners that come later.
  const reading = "request" in ctx ? (await koaBodyReader(ctx, type, limit))() : readBytes(req, limit);
  const least = "request" in ctx ? KOA_PIECE_BYTES : 1;
  const bytes = await state.receive(length <= UNCOUNTED ? reading : withinBudget(ctx, reading, least));
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw new Refusal("invalid_request", "invalid_utf8", { description: "The body is not valid UTF-8.", cause });
  }
  if (text.includes("\0")) throw new Refusal("invalid_request", "nul_in_body", { description: "The body contains NUL." });
  return text;
}

/** Bytes that the smallest piece of a body takes in koa-body, which puts texts together: 33 were measured. */
const KOA_PIECE_BYTES = 40;

/**
 * Reads a body while the process has room for it. Closes the connection of one that it refuses, whose rest stays unread.
 * @param least bytes that each piece counts for  @throws {Refusal} temporarily_unavailable
 */
function withinBudget(ctx: HotContext, reading: Promise<Uint8Array>, least: number): Promise<Uint8Array> {
  const { req, state } = ctx;
  const share = state.bodies();
  const refused = Promise.withResolvers<never>();
  const count = (chunk: Buffer): void => {
    if (share.take(Math.max(chunk.length, least))) return;
    req.pause();
    ctx.set("Connection", "close");
    refused.reject(OVERLOADED);
  };
  req.on("data", count);
  return Promise.race([reading, refused.promise]).finally(() => {
    req.off("data", count);
    share.giveBack();
  });
}

/** koa-body's middleware by limit. */
const readers = new Map<number, Middleware>();

/** Reads text in the encoding "binary", which keeps the bytes: koa-body would replace invalid UTF-8, which is refused here. */
async function koaBodyReader(ctx: FrontContext, type: string, limit: number): Promise<() => Promise<Uint8Array>> {
  if (ctx.is(type) === false) throw wrongType(type, "invalid_request");
  const { koaBody } = await loadBodyReader();
  const options = { json: false, urlencoded: false, textTypes: [FORM_TYPE, JSON_TYPE], textLimit: limit, encoding: "binary" };
  delete ctx.req.headers["content-encoding"]; // `identity` in any case: koa-body knows the lower case only
  const read = readers.get(limit) ?? koaBody({ ...options, onError: refuseBody });
  readers.set(limit, read);
  return async () => {
    await read(ctx, async () => {});
    const text: unknown = ctx.request.body;
    return Buffer.from(typeof text === "string" ? text : "", "latin1");
  };
}

function refuseBody(error: Error): never {
  throw "type" in error && error.type === "entity.too.large" ? tooLarge() : interrupted(error);
}

/** The whole body; stops reading as soon as it is longer than `limit`. */
function readBytes(req: IncomingMessage, limit: number): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const body = gathering();
  req.on("data", (chunk: Buffer) => {
    if (body.add(chunk) <= limit) return;
    req.pause();
    req.removeAllListeners("data");
    reject(tooLarge());
  });
  req.on("end", () => resolve(body.bytes()));
  req.on("error", (cause) => reject(interrupted(cause))); // also where the connection ends early
  return promise;
}

const wrongType = (type: string, code: RefusalCode): Refusal =>
  new Refusal(code, "media_type", { description: `The body must be ${type}.` });
const tooLarge = (): Refusal => new Refusal("payload_too_large", "body_too_large", { description: "The body is too large." });
const interrupted = (cause: unknown): Refusal => new Refusal("invalid_request", "body_interrupted", { cause });
