/** The result of one check. A fault must be fixed; a warning may be intended. */
export interface Finding {
  /** Stable name of the check, for programs that read `--json`. */
  readonly check: string;
  readonly verdict: "ok" | "warning" | "fault";
  /** What the check is about: the URL of a resource or an authorization server, or "MCP hosts", or "database". */
  readonly about: string;
  readonly found: string;
  /** What to do about it; absent for `ok`. */
  readonly change?: string;
}

/** All that `countersign doctor` reports, which is also its JSON document. */
export interface Report {
  readonly url: string;
  readonly kind: "authorization-server" | "protected-resource" | "unknown";
  readonly verdict: Finding["verdict"];
  readonly findings: readonly Finding[];
}
