import { accessSync, constants } from "node:fs";
import { z } from "zod";
import { describedIn, oneOf, text, url } from "./forms.ts";

const meta = describedIn("Operation");

const isReadable = (path: string) => {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};

export const OPERATION_SETTINGS = {
  NODE_ENV: oneOf(["production", "development", "test"])
    .default("development")
    .meta(meta("`production` refuses what only suits development: generated keys, a plain-http issuer.")),
  PROVISION_FILE: text(isReadable, "names a file that cannot be read", "give the path of a readable JSON file")
    .optional()
    .meta(meta("JSON file of realms, users, clients and descriptions of scopes, applied idempotently at every start.")),
  LOG_LEVEL: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
    .default("info")
    .meta(meta("How much is logged, as JSON lines on stdout.")),
  COUNTERSIGN_URL: url(["http", "https"])
    .optional()
    .meta(meta("The running server that the command line talks to.", { unset: "JWT_ISSUER" })),
  COUNTERSIGN_EMAIL: z
    .string()
    .optional()
    .meta(meta("E-mail address with which the command line signs in.", { unset: "it asks" })),
  COUNTERSIGN_PASSWORD: z
    .string()
    .optional()
    .meta(
      meta("The password with which the command line signs in; the session ends with the command.", {
        unset: "it asks",
        file: true,
      }),
    ),
};
