import { write, writeSync } from "node:fs";

export interface LogSink {
  write(line: string): void;
  /** Writes waiting lines at once, before the process ends. */
  flush?(): void;
}

const MOST_WAITING = 1 << 20;
const PAUSE_MS = 10;

/**
 * Writes to a descriptor without blocking. A stalled reader costs lines once a MiB waits; a closed pipe or a full disk costs the lines of
 * that time. (pino's own destination hangs in its last flush when the reader is gone.)
 */
export function descriptorSink(descriptor = 1): LogSink {
  let waiting = "";
  let writing: Buffer | undefined;
  let retry: NodeJS.Timeout | undefined; // while the reader is behind; otherwise a write is under way
  let torn = false; // the last line was written only in part

  const settle = (error: NodeJS.ErrnoException | null, written: number) => {
    if (writing === undefined) return;
    if (error?.code === "EAGAIN") {
      retry = setTimeout(writeAgain, PAUSE_MS);
      return;
    }
    if (error) {
      writing = undefined; // the next line tries again
      return;
    }
    torn = written < writing.length;
    writing = torn ? writing.subarray(written) : undefined;
    pump();
  };
  /** At once, for such a descriptor does not block: so flush() never meets a write that waits for the reader. */
  const writeAgain = () => {
    retry = undefined;
    if (writing === undefined) return;
    let written: number;
    try {
      written = writeSync(descriptor, writing);
    } catch (error) {
      return settle(error as NodeJS.ErrnoException, 0); // writeSync throws no others
    }
    settle(null, written);
  };
  const pump = () => {
    if (writing === undefined) {
      if (waiting === "") return;
      writing = Buffer.from(torn ? `\n${waiting}` : waiting);
      waiting = "";
    }
    write(descriptor, writing, settle);
  };

  return {
    write: (line) => {
      if (waiting.length + line.length > MOST_WAITING) return;
      waiting += line;
      if (writing === undefined) pump();
    },
    flush: () => {
      const begun = retry === undefined ? undefined : writing; // a write that is under way cannot be taken back
      if (begun !== undefined) {
        clearTimeout(retry);
        [retry, writing] = [undefined, undefined];
      }
      let rest = Buffer.concat([begun ?? Buffer.alloc(0), Buffer.from(waiting)]);
      waiting = "";
      for (let tries = 0; rest.length > 0 && tries < 50; tries++) {
        try {
          rest = rest.subarray(writeSync(descriptor, rest));
        } catch (error) {
          if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) return;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
        }
      }
      if (begun !== undefined) torn = rest.length > 0;
    },
  };
}
