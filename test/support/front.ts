import { connect } from "node:net";
import { type AppOptions, createApp } from "../../src/front/http/app.ts";
import { clientAddress } from "../../src/front/http/caller.ts";
import { listen } from "../../src/front/http/server.ts";

export const ISSUER = "http://localhost:3000";

export interface TestFront {
  readonly url: string;
  readonly port: number;
  readonly faults: unknown[];
  readonly observed: { route: string; method: string; status: number }[];
  close(): Promise<void>;
}

/** The listener of a front with the given routes, on a free loopback port. */
export async function startFront(options: Partial<AppOptions> & Pick<AppOptions, "routes">): Promise<TestFront> {
  const faults: unknown[] = [];
  const observed: TestFront["observed"] = [];
  let count = 0;
  const lifecycle = { draining: false };
  const app = createApp({
    issuer: ISSUER,
    telemetry: {
      observe: (route, method, status) => observed.push({ route, method, status }),
      fault: ({ error }) => faults.push(error),
      refused: () => undefined,
    },
    lifecycle,
    requestId: () => `r${++count}`,
    addressOf: (req) => clientAddress(req, false),
    ...options,
  });
  const listener = await listen({ handler: app, host: "127.0.0.1", port: 0, lifecycle });
  const port = listener.addresses[0]?.port ?? 0;
  return { url: `http://127.0.0.1:${port}`, port, faults, observed, close: () => listener.drain(0, 0) };
}

/** Sends raw bytes and collects the response until the server closes or `idle` milliseconds pass without data. */
export const rawRequest = (port: number, bytes: string | Buffer, idle = 300): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    socket.setTimeout(idle, () => socket.destroy());
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    socket.on("close", () => resolve(answer));
    socket.on("error", (error: NodeJS.ErrnoException) =>
      error.code === "ECONNRESET" || error.code === "EPIPE" ? undefined : reject(error),
    );
    socket.write(bytes);
  });

/** A POST of a form, given as fields or as text. */
export const postForm = (url: string, form: Record<string, string> | string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: "POST",
    redirect: "manual",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: typeof form === "string" ? form : new URLSearchParams(form).toString(),
  });
