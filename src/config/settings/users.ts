import { DAY, describedIn, seconds, whole } from "./forms.ts";

const meta = describedIn("People");

export const USER_SETTINGS = {
  SIGN_UP_RATE_LIMIT: whole(1, 1_000_000, "a number of requests")
    .default(10)
    .meta(meta("Accounts that may be opened from one address in a window.")),
  SIGN_UP_RATE_WINDOW: seconds(1, DAY).default(3600).meta(meta("Seconds of that window.")),
};
