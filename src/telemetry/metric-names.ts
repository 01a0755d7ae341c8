/** Counter by which `countersign doctor` finds a proxy that is not trusted. By itself, so that the command line loads no metrics. */
export const FORWARDED_IGNORED = "countersign_forwarded_headers_ignored_total";
