import type { RandomBytes } from "../../clock.ts";

/** Ids that are unique among all processes: a random part made once, and a count. They are no secret. */
export function requestIds(randomBytes: RandomBytes): () => string {
  const prefix = Buffer.from(randomBytes(9)).toString("base64url");
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}
