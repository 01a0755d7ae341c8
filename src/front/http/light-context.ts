import type { IncomingMessage, ServerResponse } from "node:http";
import type { FrontState, HotContext } from "./routes.ts";

/** Statuses whose responses have no content (RFC 9110 §6.4.1). */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);
const CONTENT_HEADERS = ["content-type", "content-length", "transfer-encoding"];

/** One request and its response on a hot route: gathers headers and sends them with the body in one write, which Koa does not. */
export class LightContext implements HotContext {
  readonly req: IncomingMessage;
  readonly state: FrontState;
  readonly method: string;
  status: number;
  body: string | Buffer | undefined;
  readonly #res: ServerResponse;
  /** By name in lower case: the name as it was set, and its value. */
  readonly #headers: Map<string, [name: string, value: string]>;

  constructor(req: IncomingMessage, res: ServerResponse, state: FrontState) {
    this.req = req;
    this.#res = res;
    this.state = state;
    this.method = req.method ?? "";
    this.status = 200;
    this.#headers = new Map();
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
    let body: string | Buffer | undefined;
    if (EMPTY.has(status)) for (const name of CONTENT_HEADERS) this.#headers.delete(name);
    else {
      body = this.body ?? "";
      this.set("Content-Length", String(Buffer.byteLength(body)));
    }
    const lines: string[] = []; // names and values in turn
    for (const [name, value] of this.#headers.values()) lines.push(name, value);
    res.writeHead(status, lines);
    if (this.method === "HEAD") res.end();
    else res.end(body);
  }
}
