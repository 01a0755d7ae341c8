/** What a server process tells the measurement about itself, over its own IPC channel. */
export interface Usage {
  /** CPU time spent so far by all of its threads, microseconds. */
  readonly cpu: number;
  /** Largest resident set so far, bytes. */
  readonly peakRss: number;
}

/** Tells the parent that the server listens, then its usage whenever it asks. */
export function reportTo(parent: NodeJS.Process, port: number, stop: () => Promise<void>): void {
  parent.on("message", async (word) => {
    if (word === "usage") parent.send?.(usage());
    if (word !== "stop") return;
    await stop();
    process.exit(0);
  });
  parent.send?.({ port });
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  return { cpu: user + system, peakRss: process.resourceUsage().maxRSS * 1024 };
}
