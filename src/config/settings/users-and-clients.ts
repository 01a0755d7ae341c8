import { DAY, flag, listOf, oneOf, SPACES_OR_COMMAS, seconds, settingsOf, whole } from "./forms.ts";

const lifetime = settingsOf("Lifetimes");

export const LIFETIME_SETTINGS = {
  ACCESS_TOKEN_TTL: lifetime(seconds(1, DAY).default(900), "Seconds that an access token lives."),
  ID_TOKEN_TTL: lifetime(seconds(1, DAY).default(900), "Seconds that an ID token lives."),
  REFRESH_TOKEN_TTL: lifetime(
    seconds(1, 90 * DAY).default(30 * DAY),
    "Seconds that a refresh token lives, from each rotation. A family ends at most 90 days after it began.",
  ),
  REFRESH_TOKEN_REUSE_GRACE: lifetime(
    seconds(0, 300).default(0),
    "Seconds in which the directly preceding token of a family still works when the same client sends it again with the same scope and resource. With 0 a reused token revokes the family at once.",
  ),
  AUTHORIZATION_CODE_TTL: lifetime(seconds(1, 600).default(60), "Seconds that an authorization code lives."),
  SESSION_TTL: lifetime(
    seconds(1, 30 * DAY).default(28_800),
    "Seconds that a browser session lives after the sign-in or the last fresh proof.",
  ),
};

const users = settingsOf("Users");

/** A domain name of at least two labels, in ASCII. @see RFC 1123 §2.1 */
const isDomain = (word: string) => /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/i.test(word);

export const USER_SETTINGS = {
  SIGN_UP: users(
    oneOf(["open", "domains", "invited", "closed"]).default("open"),
    "Who may open an account: anyone (`open`), addresses of SIGN_UP_DOMAINS once they are confirmed (`domains`), users with an operator's invitation (`invited`), or operators alone, for others (`closed`).",
  ),
  SIGN_UP_DOMAINS: users(
    listOf(SPACES_OR_COMMAS, isDomain, "contains something that is not a domain", "give domains such as example.com, separated by spaces")
      .transform((domains) => domains.map((domain) => domain.toLowerCase()))
      .default([]),
    "Domains of the e-mail addresses that may sign up with SIGN_UP=domains, separated by spaces. A subdomain is another domain.",
  ),
  DEVELOPERS: users(
    oneOf(["all", "role", "operators"]).default("all"),
    "Who may make clients: every user (`all`), users whom an operator gave the role `developer` (`role`), or operators alone (`operators`). Unless it is `all`, users sign up with the role `user`.",
  ),
  SIGN_UP_RATE_LIMIT: users(whole(1, 1_000_000, "a number of requests").optional(), "Accounts that one address may create in a window.", {
    unset: "`1000`; with NODE_ENV=production `10`",
  }),
  SIGN_UP_RATE_WINDOW: users(seconds(1, DAY).default(3600), "Seconds of that window."),
};

const clients = settingsOf("Clients and registration");

/** One scope token. @see RFC 6749 §3.3 */
const isScope = (word: string) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(word);

export const CLIENT_SETTINGS = {
  DEFAULT_DYNAMIC_REGISTRATION_SCOPES: clients(
    listOf(/ +/, isScope, "is not a list of scopes", "give scope tokens (RFC 6749 section 3.3) separated by spaces").default([
      "openid",
      "profile",
      "email",
      "offline_access",
    ]),
    "Scopes that a dynamically registered client may have, separated by spaces.",
  ),
  DYNAMIC_CLIENT_SCOPE: clients(
    oneOf(["registered", "realm"]).default("registered"),
    "Allowlist of a dynamically registered client: what it registered, capped by the realm (`registered`), or all that the realm allows (`realm`).",
  ),
  REQUIRE_KNOWN_RESOURCES: clients(
    flag().default(false),
    "Refuses authorization requests for a resource without a record (`invalid_target`). See docs/resources.md.",
  ),
  REQUIRE_PAR: clients(
    flag().default(false),
    "Refuses authorization requests that were not pushed to `/oauth/par` first (RFC 9126), of all clients.",
  ),
  DPOP_NONCE: clients(
    flag().default(false),
    "Whether proofs of possession must contain a nonce of this server (`DPoP-Nonce`, RFC 9449 section 8). See docs/dpop.md.",
  ),
  REGISTER_CLIENT_RATE_LIMIT: clients(
    whole(1, 1_000_000, "a number of requests").default(30),
    "Open registrations that one address may make in a window.",
  ),
  REGISTER_CLIENT_RATE_WINDOW: clients(seconds(1, DAY).default(60), "Seconds of that window."),
  DEFAULT_CLIENT_ENVIRONMENT: clients(
    oneOf(["development", "staging", "production"]).optional(),
    "Environment of clients that developers create.",
    { unset: "`development`; with NODE_ENV=production `production`" },
  ),
  CLIENT_ASSERTION_AUDIENCE: clients(
    oneOf(["strict", "compat"]).default("strict"),
    "Audience of client assertions: the issuer alone (`strict`), or the URLs of the token endpoint and of `/oauth/par` too (`compat`).",
  ),
  CIMD_ENABLED: clients(flag().default(true), "Whether an https URL may be a client_id (Client ID Metadata Documents)."),
};
