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
