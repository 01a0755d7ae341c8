const MAX_DOCUMENT_BYTES = 262_144;

/** What of a request an asker may set; redirects are never followed. */
export interface ObjectRequest {
  readonly signal: AbortSignal;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Asks for a JSON object. @throws when it is not answered with 200, in time, with at most 256 KiB, or is no JSON object */
export async function fetchObject(
  url: string,
  fetch: typeof globalThis.fetch,
  { headers, ...request }: ObjectRequest,
): Promise<Record<string, unknown>> {
  // A redirect that is not followed is no 200 either; workers at the edge know no `error` mode.
  const response = await fetch(url, { ...request, headers: { accept: "application/json", ...headers }, redirect: "manual" });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  }
  const value: unknown = JSON.parse(await readText(response, url));
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error(`${url} is no JSON object`);
  return value as Record<string, unknown>; // an object by the line above
}

/** Counts what arrives, since a length header may be missing or speak of the compressed form. */
async function readText(response: Response, url: string): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_DOCUMENT_BYTES) throw new Error(`${url} is longer than ${MAX_DOCUMENT_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
