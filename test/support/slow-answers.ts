import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Milliseconds that the answer to a form is on its way. */
const ON_THE_WAY = 1_200;

/** A proxy behind which the server has every form at once, whether or not the browser still waits for the answer, which is late. */
export async function startSlowAnswers() {
  const forms: string[] = [];
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { method, headers, url = "" } = incoming;
    if (method === "POST") forms.push(new URL(url).pathname);
    const onward = request(url, { method, headers }, (answer) => {
      const print = () => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      };
      if (method === "POST") setTimeout(print, ON_THE_WAY);
      else print();
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  };
  const server = createServer(pass).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Paths of the forms that the server has been sent, in order. */
    forms,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
