import type { LogFields } from "../src/telemetry/log.ts";

interface LogEvent {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly members: readonly (keyof LogFields)[];
  readonly meaning: string;
}

const event = (level: LogEvent["level"], members: LogEvent["members"], meaning: string): LogEvent => ({ level, members, meaning });

/** The events of the log. test/shape/events-reference.test.ts compares them with the source. */
export const LOG_EVENTS: Readonly<Record<string, LogEvent>> = {
  started: event("info", ["port"], "The process serves."),
  draining: event("info", ["signal"], "A signal arrived; the process finishes what is in flight."),
  stopped: event("info", [], "The process has ended in order."),
  workers_ready: event("info", ["count"], "All WORKERS serve."),
  workers_reloaded: event("info", ["count"], "After SIGHUP: all WORKERS were replaced."),
  worker_ended: event(
    "error",
    ["status", "signal"],
    "A worker ended by itself, or was killed 90 seconds after it had to end; another one takes its place.",
  ),
  worker_hangs: event(
    "error",
    [],
    "A worker has answered nothing for 30 seconds, at its start for 60, and is killed; `worker_ended` or `worker_did_not_start` follows.",
  ),
  worker_did_not_start: event("error", ["error"], "A worker did not start while others serve; it is tried again."),
  reload_failed: event("error", ["error"], "After SIGHUP: a new worker did not start, and has printed why; those that are left serve on."),
  close_failed: event("error", ["error"], "Closing did not end in order."),
  uncaught: event("error", ["error"], "An error that nothing expected; the process drains and exits 1."),
  fault: event(
    "error",
    ["requestId", "route", "error"],
    "A request was answered as a fault of the server. Each one is a defect or an outage.",
  ),
  background_work_failed: event(
    "warn",
    ["error", "work"],
    "Work in the background failed and is tried again; `work` is the label of `countersign_background_failures_total`, which counts it.",
  ),
  audit_record_refused: event(
    "warn",
    ["auditId", "code"],
    "The receiver of AUDIT_STREAM refuses this audit record by itself; `code` has its status. Later records wait. Once for each record (docs/audit.md#sending-it-elsewhere).",
  ),
  telemetry_not_sent: event(
    "warn",
    ["error", "code"],
    "The OpenTelemetry collector did not take traces or metrics, `code` is its status, unless it asked to try again (429, 502, 503, 504); at most once a minute.",
  ),
  http_request: event("debug", ["requestId", "route", "method", "status", "durationMs"], "A request was answered."),
  token_refused: event("info", ["route", "code", "reason", "requestId"], "The token endpoint refused a request."),
  overloaded: event(
    "warn",
    [],
    "More requests are in flight, or longer bodies are arriving, than the front bears; others are answered 503. At most once in ten seconds.",
  ),
  push_refused: event("info", ["route", "code", "reason", "requestId"], "A pushed authorization request was refused."),
  client_document_refused: event("warn", ["reason", "host", "requestId"], "A client metadata document was refused."),
  scope_dropped: event(
    "info",
    ["clientId", "resource", "scope", "rule", "requestId"],
    "A token was issued with fewer scopes than requested.",
  ),
  resource_discovered: event("info", ["resource", "scope"], "In development: a resource of this machine got a record."),
  resource_not_discovered: event("warn", ["resource", "reason"], "In development: a resource of this machine has no usable metadata."),
  clock_offset: event("warn", ["seconds"], "The clock differs from the database's by more than 5 seconds."),
  signing_key_waits: event("warn", [], "No key may sign yet; a new one has to be published for a while."),
  certificate_expires: event(
    "warn",
    ["setting", "seconds"],
    "At the start and each day, of each process: a certificate of this setting expires within 14 days, in `seconds`, or has expired (below 0).",
  ),
  setting_without_effect: event(
    "warn",
    ["setting", "needed"],
    "At the start: a setting is given that has no effect without another, `needed`.",
  ),
  front_signs_nothing: event("warn", ["setting"], "A front was given a private key, which only cores use."),
  embedded_database_in_production: event("warn", [], "The embedded database promises nothing across a power failure."),
  forwarded_headers_ignored: event("warn", ["setting"], "A proxy's headers arrived while TRUST_PROXY is off."),
  no_operator: event("warn", ["command"], "There is no operator yet; the command prints a link for the first one."),
  core_away: event(
    "warn",
    ["reason", "code"],
    "No core serves this front. `front_not_admitted`: cores refuse its certificate or TOKEN_CORE_SECRET; `core_unavailable`: `code` says why, `no_answer` where nothing answers that is a core: a firewall, or http in TOKEN_CORE_URL where cores have TLS; `core_unresolved`: their name has no address.",
  ),
  core_back: event("info", [], "A core serves this front again."),
  database_away: event(
    "warn",
    ["code"],
    "The database does not answer, or takes no writes (`code` `25006`: it is read-only); failures of work in the background by it are not logged until 5 s after its return.",
  ),
  database_back: event("info", [], "The database answers and takes writes again."),
  disk_full: event(
    "warn",
    ["path"],
    "Less than 48 MiB are free on the disk of this directory: the embedded database refuses writes. Work in the background that fails by it is not logged.",
  ),
  disk_has_room: event("info", ["path"], "The disk of this directory has room again, and the embedded database writes."),
  redis_away: event(
    "warn",
    ["code"],
    "Redis does not answer, or refuses to write (`code`, such as `OOM`, `READONLY`, or `MOVED` by a cluster); rates are counted in each process.",
  ),
  redis_back: event("info", [], "Redis answers and takes writes again."),
  sign_up_open: event("info", [], "At the start in production: anyone may open an account, as SIGN_UP is open."),
  mail_goes_to_files: event("warn", ["path"], "SMTP_URL is not set in production."),
  mail_written: event("info", ["path", "link"], "Without SMTP_URL: a mail is a file. Only in development, `link` is its link."),
  mail_postponed: event("warn", ["mailId", "attempt", "status", "code"], "A mail could not be delivered; it is sent again."),
  mail_abandoned: event(
    "warn",
    ["mailId", "attempt", "status", "code"],
    "The mail server refused the recipient for good, or a mail could not be delivered before it expired; it is not sent again.",
  ),
  outbox_unreachable: event("warn", ["error"], "The database of the outbox does not answer."),
  logout_postponed: event("warn", ["clientId", "attempt", "status", "reason"], "A client did not accept a logout token; it is sent again."),
  logout_abandoned: event(
    "warn",
    ["clientId", "attempt", "status", "reason"],
    "A client did not accept a logout token, for the last time.",
  ),
  vault_resealed: event("info", ["count"], "Stored secrets were encrypted by the new VAULT_KEY."),
  vault_unreadable: event("warn", ["count", "setting"], "Stored secrets are encrypted by a key that is not configured."),
  wallet_trusts_no_issuer: event("warn", [], "Wallets are enabled, and WALLET_TRUSTED_ISSUERS is empty."),
  unnamed_event: event("error", [], "A defect of the source: an event without a fixed name, at any level."),
};
