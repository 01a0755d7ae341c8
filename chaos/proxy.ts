import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The network between two parts, which can break. */
export interface Link {
  readonly name: string;
  /** Delivers nothing until it is healed. What was sent by then arrives late, as after a lost route. */
  stall(): void;
  /** Closes every connection and accepts none until it is healed. */
  cut(): void;
  heal(): void;
  close(): void;
}

type State = "whole" | "stalled" | "cut";

/** Connects to the first target that accepts, beginning with another one at each call. */
async function reached(targets: readonly Address[], turn: number): Promise<Socket | undefined> {
  for (const n of targets.keys()) {
    const target = targets[(turn + n) % targets.length];
    if (target === undefined) continue;
    const socket = connect(target);
    const connected = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    if (connected) return socket;
  }
  return undefined;
}

/** A TCP proxy at `address` to targets in turn. */
export async function startLink(name: string, address: Address, targets: readonly Address[]): Promise<Link> {
  const sockets = new Set<Socket>();
  let state: State = "whole";
  let turn = 0;
  const join = (from: Socket, to: Socket): void => {
    sockets.add(from.setNoDelay());
    from.on("data", (bytes) => to.write(bytes));
    from.on("end", () => to.end());
    from.on("error", () => to.destroy());
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
    if (state === "stalled") from.pause();
  };
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, async (near) => {
    near.on("error", () => near.destroy());
    turn += 1;
    const far = state === "cut" ? undefined : await reached(targets, turn);
    if (far === undefined || state === "cut") {
      near.resetAndDestroy();
      far?.destroy();
      return;
    }
    join(far, near);
    join(near, far);
    if (state === "whole") near.resume();
  });
  server.listen(address.port, address.host);
  await once(server, "listening");
  const end = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    name,
    stall() {
      state = "stalled";
      for (const socket of sockets) socket.pause();
    },
    cut() {
      state = "cut";
      end();
    },
    heal() {
      state = "whole";
      for (const socket of sockets) socket.resume();
    },
    close() {
      server.close();
      end();
    },
  };
}
