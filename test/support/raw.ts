import { connect } from "node:net";

export interface RawAnswer {
  /** 0: the server closed without a response. */
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface RawRequest {
  readonly method: string;
  /** The request target as sent. */
  readonly target: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Buffer;
  /** The Content-Length to send; by default that of the body. */
  readonly length?: number;
}

/** Sends one request byte by byte as given, on a connection of its own: for requests that no HTTP client would send. */
export async function rawExchange(origin: string, { method, target, headers = [], body, length }: RawRequest): Promise<RawAnswer> {
  const bytes = Buffer.from(body ?? "");
  const own = new Set(headers.map(([name]) => name.toLowerCase()));
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...(own.has("host") ? [] : [`Host: ${new URL(origin).host}`]),
    "Connection: close",
    ...(body === undefined || own.has("transfer-encoding") ? [] : [`Content-Length: ${length ?? bytes.length}`]),
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  return parse(await rawBytes(origin, Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), bytes])));
}

/**
 * Sends bytes and collects the response until the server closes. @param breaksOff whether to end our side after sending @throws {Error}
 * when the server keeps the connection open for 10 s
 */
export const rawBytes = (origin: string, bytes: Buffer, breaksOff = false): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(origin).port), "127.0.0.1");
    let answer = "";
    const timer = setTimeout(() => socket.destroy(new Error("the server neither answered nor closed")), 10_000);
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      // A server that responds before it has read everything may reset the connection.
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(answer);
    });
    socket.write(bytes);
    if (breaksOff) socket.end();
  });

function parse(whole: string): RawAnswer {
  const answer = whole.replace(/^HTTP\/1\.1 100 [^\r]*\r\n\r\n/, "");
  const [head = "", ...rest] = answer.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = new Headers();
  for (const line of lines) headers.append(line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim());
  const text = rest.join("\r\n\r\n");
  const plain = headers.get("transfer-encoding") === "chunked" ? unchunked(text) : text;
  return { status: Number(statusLine.split(" ")[1] ?? 0), headers, text: Buffer.from(plain, "latin1").toString("utf8") };
}

function unchunked(text: string): string {
  let whole = "";
  for (let at = 0; ; ) {
    const end = text.indexOf("\r\n", at);
    const size = Number.parseInt(text.slice(at, end), 16);
    if (end === -1 || !(size > 0)) return whole;
    whole += text.slice(end + 2, end + 2 + size);
    at = end + 2 + size + 2;
  }
}
