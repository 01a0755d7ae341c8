/** Counter by which `countersign doctor` finds a proxy that is not trusted. A file of its own, so that the CLI loads no metrics. */
export const FORWARDED_IGNORED = "countersign_forwarded_headers_ignored_total";
