import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const PATH = "/callback";

/** Opens pages in the user's browser, and takes the answer that comes back to this machine (RFC 8252 §7.3). */
export async function listenForBrowser() {
  let state: string | undefined;
  let answered = Promise.withResolvers<URLSearchParams>();
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? "/", "http://127.0.0.1"); // null for a target such as `//`
    const isAnswer = url?.pathname === PATH && state !== undefined && url.searchParams.get("state") === state;
    response.writeHead(isAnswer ? 200 : 404, { "content-type": "text/plain; charset=utf-8" });
    response.end(isAnswer ? "You can close this page." : "");
    if (!isAnswer) return;
    state = undefined;
    answered.resolve(url.searchParams);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    /** A state for one authorization request, and for one answer to it (RFC 6749 §10.12). */
    newState(): string {
      state = randomBytes(16).toString("base64url");
      return state;
    },
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    open(url: URL): void {
      console.log(`Your browser asks you:\n${url}\n`);
      const command = process.env.BROWSER || (process.platform === "darwin" ? "open" : "xdg-open");
      spawn(command, [url.href], { stdio: "ignore" }).on("error", () => undefined); // the user can open the printed page
    },
    /** The parameters of the next answer. */
    async answer(): Promise<URLSearchParams> {
      const parameters = await answered.promise;
      answered = Promise.withResolvers();
      return parameters;
    },
    close(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}
