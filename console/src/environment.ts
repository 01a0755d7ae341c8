/** What the server states in the page about itself. */
const { dataset, lang } = document.documentElement;

/** The path of the issuer, without a slash at the end; empty at the root of a host. */
export const BASE = dataset.base ?? "";
export const ISSUER = `${location.origin}${BASE}`;
export const ENVIRONMENT = dataset.environment ?? "";
/** Whether authorization requests must be pushed (REQUIRE_PAR). */
export const PUSHED = dataset.pushed === "true";
export const LANGUAGE = lang === "de" ? "de" : "en";
/** Ends a request that has no answer. The server gives up after 15 seconds. */
export const patience = (): AbortSignal => AbortSignal.timeout(20_000);
/** For the style elements that Mantine writes: the content security policy takes no others. */
export const STYLE_NONCE = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
/** The library that keeps pages from scrolling behind a dialog takes the nonce from here. */
Object.assign(globalThis, { __webpack_nonce__: STYLE_NONCE });
