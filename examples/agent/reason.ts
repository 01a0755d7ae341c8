import { ResponseBodyError, WWWAuthenticateChallengeError } from "openid-client";
import { z } from "zod";

/** The members of an error answer. @see RFC 6749 §5.2 */
const ErrorAnswer = z.object({ error: z.string(), error_description: z.string().optional() });

/** A refusal by an authorization server, in the words of its answer. */
export class OAuthRefusal extends Error {
  readonly error: string;

  constructor(server: string, { error, error_description: description }: z.infer<typeof ErrorAnswer>, cause: unknown) {
    super(`${server} refused: ${error}${description === undefined ? "" : ` (${description})`}`, { cause });
    this.error = error;
  }
}

/** What a server answers. @throws {OAuthRefusal} when it refuses in the words of OAuth; {Error} that names it when it does not answer */
export async function answerOf<T>(server: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (causesOf(cause).some(isSilence)) throw new Error(`${server} does not answer`, { cause });
    const { success, data } = ErrorAnswer.safeParse(await bodyOf(cause));
    throw success ? new OAuthRefusal(server, data, cause) : cause;
  }
}

/** The body of an error answer; where it came with a challenge the library has left it unread. */
async function bodyOf(error: unknown): Promise<unknown> {
  if (error instanceof ResponseBodyError) return error.cause;
  if (error instanceof WWWAuthenticateChallengeError) return error.response.json().catch(() => undefined);
  return undefined;
}

/** That a request had no answer: fetch says so by a TypeError, and why in its cause. */
const isSilence = (error: unknown) =>
  error instanceof Error && ((error instanceof TypeError && error.message === "fetch failed") || error.name === "TimeoutError");

/** An error, its cause, the cause of that. */
function causesOf(error: unknown): readonly unknown[] {
  return error instanceof Error && error.cause !== undefined ? [error, ...causesOf(error.cause)] : [error];
}
