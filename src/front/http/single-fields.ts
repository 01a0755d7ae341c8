import type { IncomingMessage } from "node:http";
import { Refusal } from "../../errors.ts";

/** Header fields that decide how a request is read, by the length of their name; Node keeps the first of several without a word. */
const DECIDING: ReadonlyMap<number, string> = new Map(["content-type", "authorization"].map((name) => [name.length, name]));

/**
 * Two statements of who asks, or of what the body is, are none: whoever stands between may have read the other one.
 * @throws {Refusal} invalid_request
 * @see RFC 9110 §5.3
 */
export function assertSingleFields({ rawHeaders }: IncomingMessage): void {
  let seen = "";
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at] ?? "";
    const name = DECIDING.get(sent.length);
    if (name === undefined || sent.toLowerCase() !== name) continue;
    if (seen.includes(name)) {
      throw new Refusal("invalid_request", "header_repeated", { description: "A header field was sent more than once." });
    }
    seen += name;
  }
}
