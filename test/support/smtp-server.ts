import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly source: string;
}

/** A small mail server on a free loopback port. @param answer its reply to a command instead of the usual one; "silence" sends none */
export async function startSmtpServer(answer: (command: string) => string | undefined = () => undefined) {
  const received: ReceivedMail[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
    const say = (line: string) => line !== "silence" && socket.write(`${line}\r\n`);
    let pending = "";
    let from = "";
    let to: string[] = [];
    let inData = false;

    const command = (line: string) => {
      const own = answer(line);
      if (own !== undefined) return say(own);
      if (line.startsWith("EHLO")) return say("250 mail.test");
      if (line === "STARTTLS") return say("502 no TLS here");
      if (line.startsWith("MAIL FROM:")) {
        from = line.slice(10);
        to = [];
      } else if (line.startsWith("RCPT TO:")) to.push(line.slice(8));
      else if (line === "DATA") {
        inData = true;
        return say("354 go on");
      } else if (line === "QUIT") {
        say("221 bye");
        return socket.end();
      }
      return say("250 ok");
    };

    say(answer("connect") ?? "220 mail.test ESMTP");
    socket.on("data", (chunk) => {
      pending += chunk.toString("utf8");
      for (;;) {
        const end = pending.indexOf(inData ? "\r\n.\r\n" : "\r\n");
        if (end < 0) return;
        const part = pending.slice(0, end);
        pending = pending.slice(end + (inData ? 5 : 2));
        if (inData) {
          inData = false;
          received.push({ from, to, source: part.replaceAll("\r\n..", "\r\n.") });
          say("250 taken");
        } else command(part);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
