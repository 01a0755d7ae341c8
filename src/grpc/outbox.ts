/**
 * What waits while the socket is busy leaves together when it is free. No timer: under load batches grow by themselves, idle nothing waits.
 */
export interface Outbox {
  /** @param sent called when the bytes are handed to the socket; from then on they may have arrived */
  push(bytes: Uint8Array, sent?: () => void): void;
  /** What waits is never written, nor is anything that is pushed from now on. */
  drop(): void;
  /** Whether something waits that no write has taken yet. */
  readonly waiting: () => boolean;
  readonly writing: () => boolean;
}

/** Bytes of a batch; one larger piece still goes, alone. */
const BATCH_BYTES = 256 * 1024;

/**
 * For encoded messages of one type whose content is in repeated fields: joined, their bytes are the message with all of the content
 * (protobuf's rule for merging), so a batch needs no encoding of its own.
 * @param write hands a batch to the socket and calls back when it can take more
 */
export function outbox(write: (batch: Buffer, done: () => void) => void): Outbox {
  let queue: { bytes: Uint8Array; sent?: (() => void) | undefined }[] = [];
  let writing = false;
  let scheduled = false;
  let dropped = false;
  const flush = () => {
    scheduled = false;
    if (writing || queue.length === 0) return;
    let size = 0;
    let count = 0;
    for (const { bytes } of queue) {
      if (count > 0 && size + bytes.length > BATCH_BYTES) break;
      size += bytes.length;
      count += 1;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
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
      },
    );
  };
  return {
    drop() {
      dropped = true;
      queue = [];
    },
    push(bytes, sent) {
      if (dropped) return;
      queue.push({ bytes, sent });
      if (writing || scheduled) return;
      // At the end of this turn of the loop, so that whatever else the turn brings comes along.
      scheduled = true;
      setImmediate(flush);
    },
    waiting: () => queue.length > 0,
    writing: () => writing,
  };
}
