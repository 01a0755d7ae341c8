/** Milliseconds: silence before a question is sent, the wait for anything after it, and the wait for a stream to open. */
const PATIENCE = { quiet: 400, answer: 550, opening: 500 } as const;
/** Milliseconds for reading what has arrived, so that a process that was stopped itself does not blame the other side. */
const LAST_CHANCE = 50;

export interface Heartbeat {
  /** Something came from the other side. */
  received(): void;
  stop(): void;
}

/**
 * Notices within a second that the other side of a stream has stopped answering. A connection says nothing about that: the kernel keeps it
 * open for a process that hangs, and a proxy in between answers for it.
 * @param ask sends something that is answered without any work
 * @param hung called once, when nothing came
 */
export function heartbeat(ask: () => void, hung: () => void): Heartbeat {
  let last = 0;
  let step: "opening" | "quiet" | "asked" | "last chance" = "opening";
  let timer = setTimeout(turn, PATIENCE.opening);
  let receivedSince = false;
  const wait = (next: typeof step, milliseconds: number) => {
    step = next;
    receivedSince = false;
    timer = setTimeout(turn, milliseconds).unref();
  };
  function turn(): void {
    const quiet = performance.now() - last;
    if (receivedSince && quiet < PATIENCE.quiet) wait("quiet", PATIENCE.quiet - quiet);
    else if (receivedSince || step === "quiet") {
      ask();
      wait("asked", PATIENCE.answer);
    } else if (step === "last chance") hung();
    else wait("last chance", LAST_CHANCE);
  }
  timer.unref();
  return {
    received() {
      last = performance.now();
      receivedSince = true;
    },
    stop: () => clearTimeout(timer),
  };
}
