/** Milliseconds that the clock of the browser is ahead of the server's. */
let ahead = 0;
/** Less is the time of an answer on its way, and its whole seconds. */
const CLOSE = 5_000;

/** Milliseconds since the epoch, by the server's clock as far as an answer has it: that of the browser may be wrong. */
export const now = (): number => Date.now() - ahead;

/** Takes the time from an answer. */
export function noteTime({ headers }: Response): void {
  const found = Date.now() - Date.parse(headers.get("date") ?? "");
  if (!Number.isNaN(found)) ahead = Math.abs(found) < CLOSE ? 0 : found;
}
