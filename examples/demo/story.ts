import { styleText } from "node:util";

/** Something was not as it should be: the tour ends, and the process exits non-zero. */
export class Surprise extends Error {
  override readonly name = "Surprise";
}

let chapters = 0;

export function chapter(title: string): void {
  chapters += 1;
  console.log(`\n${styleText("bold", `${chapters}. ${title}`)}`);
}

export const say = (sentence: string): void => console.log(`   ${sentence}`);

/** Tells what was seen when it is what was to be expected. @throws {Surprise} otherwise */
export function expectThat(holds: boolean, sentence: string, seen?: unknown): void {
  if (!holds) throw new Surprise(`expected: ${sentence}${seen === undefined ? "" : `\n   seen: ${JSON.stringify(seen)}`}`);
  console.log(`   ${styleText("green", "✓")} ${sentence}`);
}

/** A secret as it may be shown: enough to recognise it. */
export const shorten = (secret: string): string => `${secret.slice(0, 12)}…`;
