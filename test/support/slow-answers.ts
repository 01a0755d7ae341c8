import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy that forwards forms at once and can hold their responses back, also when the browser no longer waits for them. */
export async function startSlowAnswers() {
  const forms: string[] = [];
  let held: PromiseWithResolvers<void> | undefined;
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { method, headers, url = "" } = incoming;
    if (method === "POST") forms.push(new URL(url).pathname);
    const onward = request(url, { method, headers }, (answer) => {
      const respond = () => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      };
      if (method === "POST" && held !== undefined) void held.promise.then(respond);
      else respond();
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  };
  const server = createServer(pass).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Paths of the forms sent to the server, in order. */
    forms,
    /** Holds the responses to forms back from now on. */
    hold() {
      held = Promise.withResolvers();
    },
    release() {
      held?.resolve();
      held = undefined;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
