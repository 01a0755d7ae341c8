import { CATALOGUE, type Refusal, type RefusalCode } from "../../errors.ts";
import type { ErrorPrinter } from "../routes.ts";
import { sendPage } from "./send.ts";
import type { Site } from "./site.ts";
import { noticeView } from "./views/notices.ts";

interface ErrorWords {
  readonly title: string;
  readonly text: string;
}

const WORDS: { readonly [C in RefusalCode]?: ErrorWords } = {
  forbidden: {
    title: "This form can no longer be used",
    text: "It has expired, or it did not come from this site. Nothing was changed. Go back, reload the page and try again.",
  },
  not_found: { title: "There is nothing here", text: "The page does not exist, or what it showed is gone." },
  too_many_requests: { title: "Too many attempts", text: "Wait a while before you try again." },
  temporarily_unavailable: {
    title: "Not available right now",
    text: "The service cannot answer at the moment. Nothing was changed. Please try again in a few seconds.",
  },
};

const FAULT: ErrorWords = { title: "Something went wrong", text: "The fault is ours and has been noted. Please try again later." };
const BAD: ErrorWords = { title: "This did not work", text: "The request was not complete. Go back and try again." };

/** Prints refusals and faults as pages. */
export const pageErrorPrinter =
  (site: Site): ErrorPrinter =>
  (ctx, refusal) => {
    const status = refusal ? CATALOGUE[refusal.code].http : 500;
    const { title, text } = wordsOf(refusal);
    const wait = refusal?.detail.retryAfter ?? (status === 503 ? 5 : undefined);
    if (wait !== undefined) ctx.set("Retry-After", String(Math.max(1, Math.ceil(wait))));
    if (status === 413) ctx.set("Connection", "close");
    sendPage(ctx, noticeView(site, { tone: "bad", title, text }), status);
  };

function wordsOf(refusal: Refusal | undefined): ErrorWords {
  if (!refusal) return FAULT;
  const words = WORDS[refusal.code] ?? BAD;
  return refusal.detail.description === undefined ? words : { ...words, text: refusal.detail.description };
}
