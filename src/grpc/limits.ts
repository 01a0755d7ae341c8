const KIB = 1024;

/**
 * Bytes of a request: of a resource server, for one token and for a hundred; of a front, which relays a form of 64 KiB with the headers
 * that came with it, or a hundred tokens.
 */
export const REQUEST_BYTES = { introspect: 64 * KIB, introspectBatch: 1024 * KIB, relayed: 96 * KIB, relayedBatch: 1088 * KIB } as const;
