import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { listen } from "./guard-issuer.ts";

/** A request as a resource server received it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly proof: string | undefined;
  readonly body: string;
}

/** What a resource server answers: nothing stands for 200. */
export interface SmallAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: object;
}

/** A resource server that answers as it is made to, well or badly, and remembers what it received. */
export async function smallResource(answer: (request: ReceivedRequest, origin: string) => SmallAnswer) {
  const received: ReceivedRequest[] = [];
  const read = async (request: IncomingMessage): Promise<ReceivedRequest> => {
    const { method = "", url = "", headers } = request;
    return { method, path: url, authorization: headers.authorization, proof: headers.dpop as string, body: await text(request) };
  };
  const server = await listen(
    createServer(async (inbound, response) => {
      const request = await read(inbound);
      received.push(request);
      const { status = 200, headers = {}, json = {} } = answer(request, server.origin);
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(json));
    }),
  );
  return { ...server, received };
}
