import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { FrontState, HotContext } from "./routes.ts";

/** Statuses whose responses have no content (RFC 9110 §6.4.1). */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);
const CONTENT_HEADERS = ["content-type", "content-length", "transfer-encoding"];

/** One request and its response on a hot route: gathers headers and sends them with the body in one write, which Koa does not. */
export class LightContext implements HotContext {
  readonly req: IncomingMessage;
  readonly state: FrontState;
  body: string | Buffer | undefined;
  readonly #res: ServerResponse;
  /** By lower-case name: the name as it was given, and its value. */
  readonly #headers = new Map<string, [name: string, value: string]>();
  #status: number | undefined;

  constructor(req: IncomingMessage, res: ServerResponse, state: FrontState) {
    this.req = req;
    this.#res = res;
    this.state = state;
  }

  get method(): string {
    return this.req.method ?? "";
  }

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

  /** Sends the response, unless the client has gone. */
  send(): void {
    const res = this.#res;
    if (res.headersSent || !res.writable) return;
    const { status } = this;
    if (EMPTY.has(status)) {
      for (const name of CONTENT_HEADERS) this.#headers.delete(name);
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

  /** Names and values in turn. */
  #lines(): string[] {
    const lines: string[] = [];
    for (const [name, value] of this.#headers.values()) lines.push(name, value);
    return lines;
  }
}
