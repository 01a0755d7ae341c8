/** SQL for a hash as its text: base64url without padding. */
export const hashText = (column: string): string => `translate(encode(${column}, 'base64'), '+/=', '-_')`;

/**
 * SQL for what is sealed of a record: all its columns, whichever release added them, without those of the seal and without what is null.
 * `at` is microseconds since the epoch, for the text of a time depends on who asks.
 */
export const sealedRecord = (row: string): string =>
  `jsonb_strip_nulls(to_jsonb(${row}) - 'seq' - 'hash' - 'at') || jsonb_build_object('at', (extract(epoch from ${row}.at) * 1000000)::bigint)`;
