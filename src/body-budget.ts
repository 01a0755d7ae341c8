/** Bytes of each body over HTTP that are not counted: nearly every request is shorter. */
export const UNCOUNTED = 8 * 1024;

/** Bytes that all bodies may have together. */
export const BODY_BYTES = 64 * 1024 * 1024;

export type BodyBudget = ReturnType<typeof bodyBudget>;

/**
 * Limits the memory of bodies that are still arriving, which slow senders could fill. One per listener.
 * @param most bytes of all bodies  @param uncounted bytes of each body that are not counted, where the number of bodies is limited
 * @returns begins to count a body that is arriving
 */
export function bodyBudget(most = BODY_BYTES, uncounted = UNCOUNTED) {
  let taken = 0;
  return () => {
    let [length, own] = [0, 0];
    return {
      /** Counts bytes that have arrived. @returns false when there is no room for them */
      take(bytes: number): boolean {
        length += bytes;
        const more = Math.max(0, length - uncounted) - own;
        if (more > 0 && taken + more > most) return false;
        own += more;
        taken += more;
        return true;
      },
      giveBack(): void {
        taken -= own;
        own = 0;
      },
    };
  };
}

/** Bytes that the smallest piece of a body takes where it is kept as it came: a sender can make one of every byte. */
export const PIECE_BYTES = 256;

const NOTHING: Buffer = Buffer.alloc(0);

/** Bytes of the first room for pieces. */
const LEAST_ROOM = 1024;

/** Puts the pieces of a body together as they come, in room that doubles: each of them alone would keep `PIECE_BYTES`. */
export function gathering() {
  let room = NOTHING;
  let length = 0;
  return {
    /** @returns bytes in all */
    add(piece: Buffer): number {
      const before = length;
      length += piece.length;
      if (before === 0) {
        room = piece; // nearly every body comes in one
        return length;
      }
      if (length > room.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(LEAST_ROOM, length, 2 * room.length));
        room.copy(larger, 0, 0, before);
        room = larger;
      }
      piece.copy(room, before);
      return length;
    },
    bytes: (): Buffer => room.subarray(0, length),
  };
}
