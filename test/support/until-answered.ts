import { setTimeout as pause } from "node:timers/promises";

interface Answered {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
}

/**
 * Asks again, after Retry-After, while a busy server says that it cannot answer now (503), as every client may. Only for what a test asks on
 * the way to what it is about, or where another answer than 503 is what it is about. @returns the first other answer, or the fifth
 */
export async function untilAnswered<A extends Answered>(ask: () => Promise<A>): Promise<A> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await ask();
    if (answer.status !== 503 || attempt === 5) return answer;
    await pause(Number(answer.headers.get("retry-after") ?? 1) * 1_000);
  }
}
