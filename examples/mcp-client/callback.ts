import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const PATH = "/callback";

/** Opens pages in the user's browser, and takes the answer that comes back to this machine (RFC 8252 §7.3). */
export async function listenForBrowser(state: string) {
  let answered = Promise.withResolvers<URLSearchParams>();
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? "/", "http://127.0.0.1"); // null for a target such as `//`
    const isAnswer = url?.pathname === PATH && url.searchParams.get("state") === state;
    response.writeHead(isAnswer ? 200 : 404, { "content-type": "text/plain; charset=utf-8" });
    response.end(isAnswer ? "You can close this page." : "");
    if (isAnswer) answered.resolve(url.searchParams);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    state,
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    open(url: URL): void {
      console.log(`Your browser asks you:\n${url}\n`);
      const command = process.env.BROWSER ?? (process.platform === "darwin" ? "open" : "xdg-open");
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
