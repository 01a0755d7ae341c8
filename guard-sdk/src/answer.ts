/** An HTTP answer that every framework can send. `body` is empty where there is nothing to say. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const BODYLESS = new Set([204, 304]);

/** The answer as a Fetch `Response`. */
export function toResponse(answer: HttpAnswer): Response {
  return new Response(BODYLESS.has(answer.status) || answer.body === "" ? null : answer.body, {
    status: answer.status,
    headers: answer.headers,
  });
}

/** The header that says what a script of another origin may read. */
export const EXPOSED = "Access-Control-Expose-Headers";

/** The headers, with what was to be exposed before. */
export function mergeExposed(
  { headers }: Pick<HttpAnswer, "headers">,
  before: number | string | readonly string[] | undefined,
): Readonly<Record<string, string>> {
  const exposed = headers[EXPOSED];
  if (exposed === undefined || before === undefined) return headers;
  return { ...headers, [EXPOSED]: `${before}, ${exposed}` };
}
