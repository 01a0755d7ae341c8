import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { DEVICE_CODE } from "../../protocol/grants.ts";
import { CommandFailure, EXIT } from "../failure.ts";
import { printable } from "../table.ts";
import { ifAway, type Terminal } from "../terminal.ts";
import { failureOf, postForm, postForTokens, requestMembers, type TokenRequest, type Tokens, WebAddress } from "./server.ts";

const Started = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: WebAddress,
  verification_uri_complete: z.url().optional(),
  expires_in: z.number(),
  interval: z.number().default(5),
});

/** Seconds that `slow_down` adds to the interval. */
const SLOWER = 5;

/**
 * Signs the user in through a browser on any device, and polls for the tokens.
 * @param pause waits for seconds
 * @throws {CommandFailure}, {UnknownClient}
 * @see RFC 8628
 */
export async function tokensByDevice(
  request: TokenRequest,
  terminal: Terminal,
  pause = (seconds: number): Promise<unknown> => sleep(seconds * 1_000),
): Promise<Tokens> {
  const { server, clientId } = request;
  const endpoint = server.device_authorization_endpoint;
  if (endpoint === undefined)
    throw new CommandFailure(EXIT.failed, `${server.issuer} has no device authorization. Sign in without --device.`);
  const started = await postForm(endpoint, requestMembers(request), Started);
  if ("error" in started) throw failureOf(started, clientId);
  const { device_code, user_code, verification_uri, expires_in } = started.answer;
  terminal.complain(`Open ${printable(verification_uri)} in a browser on any device, and enter the code\n\n    ${printable(user_code)}\n`);
  const poll = [
    ["grant_type", DEVICE_CODE],
    ["client_id", clientId],
    ["device_code", device_code],
  ];
  const until = terminal.clock() + expires_in;
  for (let { interval } = started.answer; terminal.clock() < until; ) {
    await pause(interval);
    // A poll that was not answered is repeated, more slowly (RFC 8628 §3.5).
    const result = await postForTokens(server, poll).catch(ifAway({ error: "temporarily_unavailable" }));
    if ("answer" in result) return result.answer;
    if (result.error === "expired_token") break;
    if (result.error === "slow_down" || result.error === "temporarily_unavailable") interval += SLOWER;
    else if (result.error !== "authorization_pending") throw failureOf(result, clientId);
  }
  throw new CommandFailure(EXIT.notSignedIn, "The code has expired. Run the command again.");
}
