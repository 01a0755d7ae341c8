import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { FrontContext, FrontState } from "./routes.ts";

/** Statuses whose answers have no content (RFC 9110 §6.4.1). */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);
const ABOUT_CONTENT = ["content-type", "content-length", "transfer-encoding"];

/**
 * One request and its answer, for the routes of fixed paths. It is as much of Koa's context as they use, at less cost: headers are
 * gathered, and leave with the body in one write.
 */
export class Exchange implements FrontContext {
  readonly req: IncomingMessage;
  readonly state: FrontState;
  body: string | Buffer | undefined;
  readonly #res: ServerResponse;
  readonly #accepts: (types: readonly string[]) => string | false;
  /** By lower-case name: the name as it was given, and its value. */
  readonly #headers = new Map<string, [name: string, value: string | string[]]>();
  #status: number | undefined;

  /** @param accepts which of some media types the request would rather have (RFC 9110 §12.5.1) */
  constructor(req: IncomingMessage, res: ServerResponse, state: FrontState, accepts: (types: readonly string[]) => string | false) {
    this.req = req;
    this.#res = res;
    this.state = state;
    this.#accepts = accepts;
  }

  get method(): string {
    return this.req.method ?? "";
  }

  /** 200 once there is a body, unless said. */
  get status(): number {
    return this.#status ?? (this.body === undefined ? 404 : 200);
  }

  set status(status: number) {
    this.#status = status;
  }

  set(name: string, value: string): void {
    this.#headers.set(name.toLowerCase(), [name, value]);
  }

  remove(name: string): void {
    this.#headers.delete(name.toLowerCase());
  }

  append(name: string, value: string): void {
    const there = this.#headers.get(name.toLowerCase())?.[1] ?? [];
    this.#headers.set(name.toLowerCase(), [name, [...(typeof there === "string" ? [there] : there), value]]);
  }

  vary(name: string): void {
    const there = this.#headers.get("vary")?.[1];
    this.set("Vary", there === undefined ? name : `${there}, ${name}`);
  }

  accepts(...types: string[]): string | false {
    return this.#accepts(types);
  }

  /** Sends the answer, if there still is somebody to take it. */
  send(): void {
    const res = this.#res;
    if (res.headersSent || !res.writable) return;
    const { status } = this;
    if (EMPTY.has(status)) {
      for (const name of ABOUT_CONTENT) this.#headers.delete(name);
      res.writeHead(status, this.#lines()).end();
      return;
    }
    const body = this.body ?? this.#statusText(status);
    this.set("Content-Length", String(Buffer.byteLength(body)));
    res.writeHead(status, this.#lines());
    if (this.method === "HEAD") res.end();
    else res.end(body);
  }

  #statusText(status: number): string {
    this.set("Content-Type", "text/plain; charset=utf-8");
    return STATUS_CODES[status] ?? String(status);
  }

  /** Names and values in turn; a header of several values has a line for each. */
  #lines(): string[] {
    const lines: string[] = [];
    for (const [name, value] of this.#headers.values()) {
      if (typeof value === "string") lines.push(name, value);
      else for (const each of value) lines.push(name, each);
    }
    return lines;
  }
}
