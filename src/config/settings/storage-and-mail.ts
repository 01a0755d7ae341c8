import { z } from "zod";
import { flag, settingsOf, text, url } from "./forms.ts";

const storage = settingsOf("Storage");

export const STORAGE_SETTINGS = {
  DATABASE_URL: storage(url(["postgres", "postgresql"]).optional(), "PostgreSQL 15 or newer.", {
    unset: "an embedded database under DATA_DIR/pg",
    file: true,
  }),
  REDIS_URL: storage(
    url(["redis", "rediss"]).optional(),
    "Redis for rate limits, shared caches and wake-up messages. It never holds the only copy of anything that security depends on.",
    {
      unset: "in this process",
      file: true,
    },
  ),
  DATA_DIR: storage(z.string().default("./data"), "Embedded database, development keys, outbox. Created when missing, mode 0700."),
  MIGRATE_ON_START: storage(
    flag().default(true),
    "Whether `serve` migrates the database before it listens; `countersign migrate` does so separately.",
  ),
};

const mail = settingsOf("Mail");

const isMailbox = (value: string) => /^(?:[^<>@\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u.test(value);

export const MAIL_SETTINGS = {
  SMTP_URL: mail(
    url(["smtp", "smtps"]).optional(),
    "Mail server: `smtps://user:password@host`, or `smtp://…`, which uses TLS when the server offers it and only then, unless it ends in `?requireTLS=true`.",
    { unset: "mails are written to files under DATA_DIR/outbox, and their paths are printed", file: true },
  ),
  MAIL_FROM: mail(text(isMailbox, "is not a mailbox", "give an address, or Name <address>").optional(), "Sender of mails.", {
    unset: "`Countersign <no-reply@…>` at the issuer's host",
  }),
};
