import { connect, type Socket } from "node:net";

export interface Reply {
  readonly status: number;
  /** Status line and headers as they came. */
  readonly head: string;
  readonly body: string;
}

/** One keep-alive connection that carries one request at a time, opened again for a request where the server has closed it since the last. */
export interface Connection {
  /** @param request the whole request as text, ASCII alone */
  send(request: string): Promise<Reply>;
  close(): void;
}

const LENGTH = /\r\ncontent-length: (\d+)/i;

/**
 * Opens a connection to a server on this machine. As small as it can be, so that the generator of the load is never what limits it; it
 * understands answers of a stated length alone.
 */
export async function open(port: number): Promise<Connection> {
  let received = "";
  let waiting: { readonly resolve: (reply: Reply) => void; readonly reject: (error: Error) => void } | undefined;
  const fail = (error: Error): void => {
    waiting?.reject(error);
    waiting = undefined;
  };
  const read = (text: string): void => {
    received += text;
    const end = received.indexOf("\r\n\r\n");
    if (end === -1) return;
    const head = received.slice(0, end);
    const length = Number(LENGTH.exec(head)?.[1] ?? 0);
    if (received.length < end + 4 + length) return;
    const body = received.slice(end + 4, end + 4 + length);
    received = received.slice(end + 4 + length);
    const asker = waiting;
    waiting = undefined;
    asker?.resolve({ status: Number(head.slice(9, 12)), head, body });
  };
  const attached = async (): Promise<Socket> => {
    const socket = await connected(port);
    received = "";
    socket.on("data", read);
    socket.on("error", fail);
    socket.on("close", () => fail(new Error("the server closed the connection")));
    return socket;
  };
  let socket = await attached();
  const exchange = (request: string): Promise<Reply> =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject };
      socket.write(request, "latin1");
    });
  const reopened = async (request: string): Promise<Reply> => {
    socket = await attached();
    return exchange(request);
  };
  return {
    send: (request) => (socket.writable ? exchange(request) : reopened(request)),
    close: () => socket.destroy(),
  };
}

const connected = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.setEncoding("latin1");
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
