import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** What a client gets in place of the server's answer: a page with a status, or a connection that breaks. */
type Instead = number | "broken";

/**
 * The URL of a proxy in front of a server, which gets every request, until the end of the test.
 * @param instead of a request, by its path and body: what its caller gets; undefined for the answer of the server
 */
export async function losingAnswers(server: string, instead: (path: string, body: string) => Instead | undefined): Promise<string> {
  const proxy = createServer(async ({ method = "GET", url = "", headers }, response) => {
    const body = await text(response.req);
    const sent = { "content-type": headers["content-type"] ?? "", authorization: headers.authorization ?? "" };
    const answer = await fetch(new URL(url, server), { method, headers: sent, ...(method === "POST" && { body }) });
    const given = instead(url, body);
    if (given === "broken") response.destroy();
    else if (given !== undefined) response.writeHead(given).end("<html></html>");
    else response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close().closeAllConnections());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}
