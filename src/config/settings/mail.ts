import { describedIn, text, url } from "./forms.ts";

const meta = describedIn("Mail");

const isMailbox = (value: string) => /^(?:[^<>@\p{Cc}]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u.test(value);

export const MAIL_SETTINGS = {
  SMTP_URL: url(["smtp", "smtps"])
    .optional()
    .meta(
      meta(
        "Mail server: `smtps://user:password@host`, or `smtp://…`, which uses TLS when the server offers it and only then, unless it ends in `?requireTLS=true`.",
        { unset: "mails are files under DATA_DIR/outbox, whose path is printed", file: true },
      ),
    ),
  MAIL_FROM: text(isMailbox, "is no mailbox", "give an address, or Name <address>")
    .optional()
    .meta(meta("Sender of mails.", { unset: "`Countersign <no-reply@…>` at the issuer's host" })),
};
