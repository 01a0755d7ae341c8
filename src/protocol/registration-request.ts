import { z } from "zod";
import { Refusal } from "../errors.ts";
import { DisplayName } from "./display-name.ts";
import { issuesOf } from "./issue-messages.ts";

const words = z.array(z.string().max(200)).max(20);

/** The members of a registration request that are read (RFC 7591 §2). All others are ignored (docs/protocol.md#registration). */
export const RegistrationRequest = z.object({
  client_name: DisplayName.optional().meta({ description: "Shown to users who are asked for consent." }),
  redirect_uris: z
    .array(z.string().max(2000))
    .max(10)
    .optional()
    .meta({ description: "Required for the grant authorization_code.", example: ["https://client.example/callback"] }),
  grant_types: words
    .optional()
    .meta({ description: "Of authorization_code, refresh_token, client_credentials, urn:ietf:params:oauth:grant-type:device_code." }),
  response_types: words.optional().meta({ description: "`code`, where authorization_code is among the grants." }),
  token_endpoint_auth_method: z.string().max(200).optional().meta({
    description:
      "`none`, `client_secret_basic` (default) or `client_secret_post`. A secret may be sent in the header or in the body, whichever is registered.",
  }),
  scope: z.string().max(8000).optional().meta({ description: "Space-separated; capped to what the realm allows." }),
  dpop_bound_access_tokens: z
    .boolean()
    .optional()
    .meta({ description: "Refuse token requests of the client without a proof (RFC 9449 §5.2)." }),
  require_pushed_authorization_requests: z
    .boolean()
    .optional()
    .meta({ description: "Refuse authorization requests of the client that were not pushed first (RFC 9126 §6)." }),
});
export type RegistrationRequest = z.infer<typeof RegistrationRequest>;

const isObject = (json: unknown): json is object => typeof json === "object" && json !== null && !Array.isArray(json);

/** A member that is null counts as absent. */
const withoutNulls = (members: object) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));

/** Checks the grammar of a registration request. @throws {Refusal} invalid_redirect_uri, invalid_client_metadata @see RFC 7591 §3.2.2 */
export function parseRegistrationRequest(json: unknown): RegistrationRequest {
  const parsed = RegistrationRequest.safeParse(isObject(json) ? withoutNulls(json) : json);
  if (parsed.success) return parsed.data;
  const [fault] = issuesOf(parsed.error);
  const member = fault?.path.split(".")[0];
  const description = fault && member ? `${fault.path} ${fault.message}.` : "The body must be a JSON object.";
  if (member === "redirect_uris") throw new Refusal("invalid_redirect_uri", "malformed_redirect_uris", { description });
  throw new Refusal("invalid_client_metadata", "malformed_metadata", { description });
}
