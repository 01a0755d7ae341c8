import { accessSync, constants } from "node:fs";
import { z } from "zod";
import { oneOf, settingsOf, text, url } from "./forms.ts";

const setting = settingsOf("Operation");

const isReadable = (path: string) => {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};

export const OPERATION_SETTINGS = {
  NODE_ENV: setting(
    oneOf(["production", "development", "test"]).default("development"),
    "`production` refuses what only suits development: generated keys, a plain-http issuer.",
  ),
  PROVISION_FILE: setting(
    text(isReadable, "names a file that cannot be read", "give the path of a readable JSON file").optional(),
    "JSON file of realms, users, clients and descriptions of scopes, applied idempotently at every start.",
  ),
  LOG_LEVEL: setting(
    oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
    "How much is logged, as JSON lines on stdout.",
  ),
  COUNTERSIGN_URL: setting(url(["http", "https"]).optional(), "The running server that the command line talks to.", {
    unset: "JWT_ISSUER",
  }),
  COUNTERSIGN_EMAIL: setting(z.string().optional(), "E-mail address with which the command line signs in.", { unset: "it asks" }),
  COUNTERSIGN_PASSWORD: setting(
    z.string().optional(),
    "The password with which the command line signs in; the session ends with the command.",
    {
      unset: "it asks",
      file: true,
    },
  ),
};
