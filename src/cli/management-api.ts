import type { AdminClient } from "@countersign/admin";
import { type Command, InvalidArgumentError, Option } from "commander";
import { milliseconds, systemClock } from "../clock.ts";
import { CommandFailure, EXIT, EXIT_CODES, PartlyDone } from "./failure.ts";
import { asJson } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";

/** The management API, loaded and signed in to when a command needs it. @throws {CommandFailure} */
export const managing = async (terminal: Terminal): Promise<AdminClient> => (await import("./session.ts")).signedIn(terminal);

/** What a command prints: `value` with `--json`, else `text`, which a long list makes only then. */
export interface Output {
  readonly value: unknown;
  readonly text: string | (() => string);
  /** The next step after an empty list. */
  readonly whenEmpty?: string;
  /** How many items the whole list has, which is said below it. */
  readonly total?: string;
  /** The member of the output that is never shown again. */
  readonly shownOnce?: string;
  /** A warning after the output. */
  readonly warning?: () => Promise<string | undefined> | string | undefined;
}

/** Adds a command with `--json` that prints what `action` returns. */
export function addCommand<Args extends unknown[]>(
  parent: Command,
  terminal: Terminal,
  name: string,
  description: string,
  action: (...args: Args) => Promise<Output>,
): Command {
  const command = parent.command(name).description(description).option("--json", "as JSON");
  return command.action(
    running(terminal, async (...args: Args) => {
      const question = command.options.find((option) => option instanceof Yes)?.question;
      if (question !== undefined) await confirm(terminal, question, command.opts().yes);
      const { json, ...options } = command.opts();
      const members = Object.entries(options).map(([member, given]) => [member, given === NULL ? null : given]);
      const output = await action(...(args.with(-2, Object.fromEntries(members)) as Args)); // the last one is the command
      const { value, text, warning, shownOnce } = output;
      terminal.write(json ? asJson(value) : typeof text === "string" ? text : text());
      if (!json && Array.isArray(value)) belowList(value.length, output, terminal);
      if (!json && shownOnce !== undefined) terminal.complain(`Keep the ${shownOnce} now: it is shown only this once.`, "yellow");
      const warned = await warning?.();
      if (warned !== undefined) terminal.complain(warned, "yellow");
    }),
  );
}

/** Not part of the output, which programs read. How many there are is for users at a terminal. */
function belowList(count: number, { whenEmpty, total }: Output, terminal: Terminal): void {
  if (count > 0 && total !== undefined && terminal.interactive) terminal.complain(`${number(count)} of ${total}`);
  if (count === 0 && whenEmpty !== undefined) terminal.complain(whenEmpty);
}

const number = (count: number): string => count.toLocaleString("en");

/** How many a list has in all, by a page of it, in a sentence. */
export const countOf = ({ total, totalIsExact }: { readonly total: number | null; readonly totalIsExact: boolean }): string =>
  `${totalIsExact ? "" : "more than "}${number(total ?? 0)}`;

/** Adds a group, and returns how to add its commands. Each calls the management API as the user who is signed in. */
export function managementCommands(program: Command, terminal: Terminal, name: string, description: string) {
  const group = program.command(name).description(description).addHelpText("after", EXIT_CODES);
  return <Args extends unknown[]>(
    usage: string,
    purpose: string,
    action: (admin: AdminClient, ...args: Args) => Promise<Output>,
  ): Command => addCommand(group, terminal, usage, purpose, async (...args: Args) => action(await managing(terminal), ...args));
}

/** Asks at a terminal before what cannot be undone. `--yes` answers for the user; a script is never asked. @throws {CommandFailure} */
export async function confirm(terminal: Terminal, question: string, yes: true | undefined): Promise<void> {
  if (!terminal.interactive || yes === true) return;
  const answer = await terminal.ask(`${question} This cannot be undone. Go on? [y/N] `, { instead: "Use --yes." });
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new CommandFailure(EXIT.failed, "Nothing was changed.");
}

/** Of a command that asks first, whatever it is called with. */
export class Yes extends Option {
  readonly question: string;

  constructor(question: string) {
    super("-y, --yes", "do not ask first");
    this.question = question;
  }
}

/**
 * A call whose answer the server gives only once.
 * @param ifLost what it may have done, and what to do then  @throws {PartlyDone} with `ifLost`, when the answer is lost
 */
export const onceOnly = <Answer>(call: Promise<Answer>, ifLost: string): Promise<Answer> =>
  call.catch(async (error: unknown) => {
    const { isAnswerLost } = await import("./as-failure.ts");
    throw isAnswerLost(error) ? new PartlyDone(ifLost, { cause: error }) : error;
  });

/** A page of a list, whose items are the member `Name`. */
type ListPage<Name extends string> = { readonly [N in Name]: readonly unknown[] } & {
  readonly nextCursor?: string | null;
  readonly total?: number | null;
  readonly totalIsExact?: boolean;
};

type FetchPage<Page> = (at: { readonly limit: number; readonly cursor?: string }) => Promise<Page>;

/** Items of a list, and how many the whole list has, as users read it. */
export interface Listed<Item> {
  readonly items: readonly Item[];
  readonly total: string;
}

const LONGEST_PAGE = 200;

/** A paged list from its beginning. @param most how many items; default: all */
export async function listed<Name extends string, Page extends ListPage<Name>>(
  name: Name,
  page: FetchPage<Page>,
  most = Number.POSITIVE_INFINITY,
): Promise<Listed<Page[Name][number]>> {
  const items: Page[Name][number][] = [];
  let total: string | undefined;
  for (let cursor: string | undefined; ; ) {
    const next: Page = await page({ limit: Math.min(LONGEST_PAGE, most - items.length), ...(cursor !== undefined && { cursor }) });
    items.push(...next[name]);
    total ??= `${number(next.total ?? items.length)}${next.totalIsExact ? "" : "+"}`;
    cursor = next.nextCursor ?? undefined;
    if (cursor === undefined && items.length <= most) return { items, total: number(items.length) };
    if (cursor === undefined || items.length >= most) return { items: items.slice(0, most), total };
  }
}

export const everyPage = async <Name extends string, Page extends ListPage<Name>>(name: Name, page: FetchPage<Page>) =>
  (await listed(name, page)).items;

/** What an option gives for null, which Commander takes for an empty text. The action of `addCommand` gets null. */
export const NULL = Symbol("null") as unknown as null;

/** An option whose value is a member of a request, by that name in the options of its action. */
export function setting(member: string, flags: string, description: string, reads?: (value: string, before: never) => unknown): Option {
  const option = new Option(flags, description);
  option.attributeName = () => member;
  return reads === undefined ? option : option.argParser<unknown>((value, before) => reads(value, before as never));
}

/** Reads a value in whose place a word stands for null. */
export const orNull =
  (word: string, reads = (value: string): unknown => value) =>
  (value: string) =>
    value === word ? NULL : reads(value);

/** The values of an option that may be repeated. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** As `collect`, for a list in whose place a word may stand, such as `none`. */
export const collectOr =
  <Meaning extends readonly string[] | null>(meanings: Readonly<Record<string, Meaning>>) =>
  (value: string, before?: readonly string[] | Meaning): readonly string[] | Meaning => {
    const word = Object.keys(meanings).find((each) => each === value || meanings[each] === before);
    if (word !== undefined && before !== undefined) throw new InvalidArgumentError(`${word} cannot be combined with other values.`);
    return word === undefined ? collect(value, before ?? []) : (meanings[word] as Meaning);
  };

/** As `reads`, for scopes: a value may have several, separated by spaces as in a request. */
export const scopesBy =
  <Read>(reads: (scope: string, before?: Read) => Read) =>
  (value: string, before?: Read): Read | undefined =>
    value
      .trim()
      .split(/ +/)
      .reduce<Read | undefined>((known, scope) => reads(scope, known), before);

/** Reads one of some words. */
export const oneOf =
  <const Word extends string>(...words: readonly Word[]) =>
  (value: string): Word => {
    const found = words.find((word) => word === value);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}`);
  };

/** Reads digits. @param what they must be */
export const digits = (form: RegExp, what: string) => (value: string) => {
  if (!form.test(value)) throw new InvalidArgumentError(`must be ${what}`);
  return Number(value);
};

/** Milliseconds of the units in which a time may be given as so long ago. */
const AGO = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const MOMENT = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** Whether the calendar has the day of a time that begins with a date. `Date.parse` takes 30 February for 2 March. */
const isDay = (time: string): boolean => {
  const day = time.slice(0, 10);
  return new Date(`${day}T00:00Z`).toISOString().startsWith(day);
};

/** Reads a time: so long ago, or a date, with or without a time, in UTC unless it has an offset. @returns milliseconds since the epoch */
export function moment(value: string): number {
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(value) ?? [];
  const [match, offset] = MOMENT.exec(value) ?? [];
  let time = Number.NaN;
  if (unit !== undefined) time = milliseconds(systemClock()) - Number(count) * AGO[unit as keyof typeof AGO];
  if (match !== undefined) time = Date.parse(offset === undefined && match.includes("T") ? `${match}Z` : match);
  if (Number.isNaN(time) || time < 0 || (match !== undefined && !isDay(match)))
    throw new InvalidArgumentError("must be so long ago, such as 90m, 24h or 7d, or a time, such as 2026-10-01 or 2026-10-01T08:30+02:00");
  return time;
}

export type Most = { readonly limit?: number };
export const LIMIT = new Option("--limit <count>", "how many to list; without it: all").argParser(
  digits(/^[1-9]\d{0,8}$/, "a whole number above 0"),
);
