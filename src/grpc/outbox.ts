/** Bytes of a batch; a larger piece is sent alone. */
const BATCH_BYTES = 256 * 1024;

/**
 * Gathers what is pushed while the socket is busy into one write. There is no timer, so an idle socket adds no wait.
 * For encoded messages of one type with only repeated fields: protobuf merges them when their bytes are concatenated, so a batch needs no
 * encoding of its own.
 * @param write passes a batch to the socket and calls back when it can take more
 */
export function outbox(write: (batch: Buffer, done: () => void) => void) {
  let queue: { bytes: Uint8Array; sent?: (() => void) | undefined }[] = [];
  let writing = false;
  let held = false;
  let scheduled = false;
  let dropped = false;
  let finished: (() => void) | undefined;
  const finishWhenWritten = () => {
    if (writing || queue.length > 0) return;
    finished?.();
    finished = undefined;
  };
  const flush = () => {
    scheduled = false;
    if (writing || held || queue.length === 0) return;
    let size = 0;
    let count = 0;
    for (const { bytes } of queue) {
      if (count > 0 && size + bytes.length > BATCH_BYTES) break;
      size += bytes.length;
      count += 1;
    }
    const batch = queue.splice(0, count);
    writing = true;
    for (const { sent } of batch) sent?.();
    write(
      Buffer.concat(
        batch.map(({ bytes }) => bytes),
        size,
      ),
      () => {
        writing = false;
        flush();
        finishWhenWritten();
      },
    );
  };
  const release = (): void => {
    if (!held) return;
    held = false;
    flush();
  };
  return {
    /** Discards waiting bytes, and everything pushed from now on. */
    drop(): void {
      dropped = true;
      queue = [];
    },
    /** @param sent called when the bytes are passed to the socket; from then on they may arrive */
    push(bytes: Uint8Array, sent?: () => void): void {
      if (dropped) return;
      queue.push({ bytes, sent });
      if (writing || scheduled) return;
      // At the end of this turn of the event loop, so that everything pushed in it is sent together.
      scheduled = true;
      setImmediate(flush);
    },
    /**
     * Ends a hold, and calls `sent` once, when everything is written; never where the socket does not report the end of a write, as one that
     * has closed may.
     */
    finish(sent: () => void): void {
      finished = sent;
      release();
      finishWhenWritten();
    },
    /** Keeps what is pushed from now on, until `release`. */
    hold(): void {
      held = true;
    },
    release,
    /** Whether what is pushed now would wait. */
    waits: (): boolean => writing || held,
  };
}
