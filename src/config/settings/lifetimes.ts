import { DAY, seconds, settingsOf } from "./forms.ts";

const setting = settingsOf("Lifetimes");

export const LIFETIME_SETTINGS = {
  ACCESS_TOKEN_TTL: setting(seconds(1, DAY).default(900), "Seconds that an access token lives."),
  ID_TOKEN_TTL: setting(seconds(1, DAY).default(900), "Seconds that an ID token lives."),
  REFRESH_TOKEN_TTL: setting(
    seconds(1, 90 * DAY).default(30 * DAY),
    "Seconds that a refresh token lives, from each rotation. A family ends at most 90 days after it began.",
  ),
  REFRESH_TOKEN_REUSE_GRACE: setting(
    seconds(0, 300).default(0),
    "Seconds in which the directly preceding token of a family still works when the same client sends it again with the same scope and resource. With 0 a reused token revokes the family at once.",
  ),
  AUTHORIZATION_CODE_TTL: setting(seconds(1, 600).default(60), "Seconds that an authorization code lives."),
  SESSION_TTL: setting(seconds(1, 30 * DAY).default(28_800), "Seconds that a browser session lives after sign-in."),
};
