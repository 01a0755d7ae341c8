import { CATALOGUE, type Refusal, type RefusalCode } from "../../errors.ts";
import { type Language, shownDuration, TEXTS } from "../../texts/languages.ts";
import { setRetryHeaders } from "../http/answers.ts";
import type { ErrorPrinter, FrontState } from "../http/routes.ts";
import { REQUEST_OVER } from "../oauth/pending-request.ts";
import { sendNotice, wideLink } from "./views/cards.ts";
import { type Asked, askedOf, type Fault, type Site } from "./views/layout.ts";

/** Characters of what was sent. */
const SHOWN = 300;

/**
 * Prints refusals and faults as pages.
 * @param ofApp for an application's request: the page shows the error description, as the JSON for other clients does
 */
export const pageErrorPrinter =
  (site: Site, ofApp?: "of app"): ErrorPrinter =>
  (ctx, refusal) => {
    const status = refusal ? CATALOGUE[refusal.code].http : 500;
    const asked = askedOf({ site }, ctx);
    const { refusals, words } = asked.texts;
    const isOver = refusal?.reason === REQUEST_OVER;
    const isAppsFault = ofApp && refusal?.code === "invalid_request";
    const { title, text } = isOver ? refusals.requestOver : isAppsFault ? refusals.appRequest : wordsOf(asked, refusal);
    setRetryHeaders(ctx, refusal);
    // While the service is unavailable, its other pages do not help.
    const more = status < 500 && wideLink(site.path("/account"), words.toAccount);
    const description = ofApp && refusal?.detail.description;
    const sent = ofApp && refusal && ctx.state.requested && sentValue(asked, refusal, ctx.state.requested);
    const support = { code: refusal?.code ?? "server_error", requestId: ctx.state.requestId, description, sent };
    sendNotice(asked, { tone: isOver ? "plain" : "bad", title, text, more, support }, status);
  };

/** What was sent. Anyone can make such a link: blanks are encoded and the rest is cut, so that it does not read as a sentence of this page. */
function sentValue({ texts }: Asked, { detail }: Refusal, { clientId = "", redirectUri = "" }: NonNullable<FrontState["requested"]>) {
  const name = detail.issues?.[0]?.path;
  if (name !== "client_id" && name !== "redirect_uri") return undefined;
  const encoded = (name === "client_id" ? clientId : redirectUri).toWellFormed().replace(/[^!-~]/gu, encodeURIComponent);
  const value = encoded.length > SHOWN ? `${encoded.slice(0, SHOWN)}…` : encoded;
  return { name, value, remedy: texts.refusals.remedies[name] };
}

type RefusalWords = Readonly<Record<"title" | "text", string>>;

function wordsOf({ language, texts: { refusals: texts } }: Asked, refusal: Refusal | undefined): RefusalWords {
  if (!refusal) return texts.fault;
  const pages: { readonly [C in RefusalCode]?: RefusalWords } = texts.pages;
  const words = pages[refusal.code] ?? texts.otherPage;
  return { title: words.title, text: reasonWords(language, refusal) ?? words.text };
}

const wordsFor = (table: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(table, key) ? table[key] : undefined;

/** The sentence for a refusal's reason, if there is one. The refusal's own description is for developers and is not shown. */
export function reasonWords(language: Language, { reason, detail }: Refusal): string | undefined {
  const { reasons, retryIn } = TEXTS[language].refusals;
  const sentence = wordsFor(reasons, reason);
  if (sentence === undefined || detail.retryAfter === undefined) return sentence;
  return `${sentence} ${retryIn(shownDuration(language, Math.ceil(detail.retryAfter / 60) * 60))}`;
}

/** The faults of a form, each at its field where the form has that field. Pure. */
export function refusalFaults(language: Language, refusal: Refusal, fields: readonly string[]): readonly Fault[] {
  const { reasons, otherReason, fields: fieldTexts, otherField } = TEXTS[language].refusals;
  const sentence = wordsFor(reasons, refusal.reason);
  const faults = refusal.detail.issues?.map(({ path }) => ({
    field: fields.includes(path) ? path : undefined,
    message: (refusal.reason === "body_shape" ? wordsFor(fieldTexts, path) : sentence) ?? otherField,
  }));
  return faults ?? [{ message: reasonWords(language, refusal) ?? otherReason }];
}
