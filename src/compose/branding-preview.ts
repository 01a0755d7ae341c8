import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { mailOf } from "../accounts/mails.ts";
import type { Branding } from "../branding/branding.ts";
import type { Config } from "../config.ts";
import { MARK, PAGE_SCRIPT, STYLE } from "../front/pages/assets.ts";
import { brandFiles } from "../front/pages/brand-files.ts";
import { consentView } from "../front/pages/consent/view.ts";
import { signInView } from "../front/pages/sign-in/view.ts";
import { noticeView } from "../front/pages/views/cards.ts";
import { type HostedPage, html, printPage, siteOf, type Writing } from "../front/pages/views/layout.ts";
import { LANGUAGES, type Language, TEXTS } from "../texts/languages.ts";

/** An application as the preview shows it. */
const CLIENT = {
  name: "Field Notes",
  verifiedHost: "notes.example.com",
  returnHost: "notes.example.com",
  onThisDevice: false,
  deviceAddress: undefined,
  environment: undefined,
  openRegistration: false,
  nameUnverified: false,
} as const;

const RESOURCE = "https://notes.example.com/mcp";

/** The pages that users meet first. */
function pagesOf(writing: Writing): Readonly<Record<string, HostedPage>> {
  const consent = {
    ...{ token: "", requestId: "", offer: "", email: "ada@example.com", client: CLIENT },
    ...{ scopes: ["openid", "email", "offline_access"], newScopes: ["openid", "email", "offline_access"] },
    ...{ resources: [RESOURCE], newResources: [RESOURCE], records: [], described: new Map() },
    targets: new Map([[RESOURCE, { name: "Notes", isAgent: false, hasRecord: true as const }]]),
    lifetimes: undefined,
  };
  const { title, text } = writing.texts.refusals.requestOver;
  return {
    "sign-in": signInView(writing, {
      token: "",
      returnTo: {},
      client: CLIENT,
      faults: [],
      again: false,
      mayJoin: true,
      connections: [],
      passkeys: false,
    }),
    consent: consentView(writing, consent),
    notice: noticeView(writing, { tone: "plain", title, text }),
  };
}

/**
 * Writes the pages and a mail as a branding makes them, with their files, into a folder that a browser can open without a server.
 * @returns the path of the page that shows them all
 */
export function writePreview({ branding, issuer }: Pick<Config, "branding" | "issuer">, folder: string): string {
  const write = (path: string, content: string | Buffer) => {
    const file = join(folder, path);
    try {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new Error(`${file} cannot be written (${code}). Name another folder with --out.`, { cause: error });
    }
    return path;
  };
  for (const { path, content } of [STYLE, MARK, PAGE_SCRIPT]) write(path, content);
  const { logo, style } = brandFiles(branding);
  for (const file of [logo, style]) if (file !== undefined) write(file.path, file.body);
  const shown = LANGUAGES.flatMap((language) =>
    previewsIn(language, branding, issuer).map(([name, page]) => write(`${name}.${language}.html`, page)),
  );
  const frames = shown.map(
    (path) => html`<figure><figcaption>${path}</figcaption><iframe src="${path}" title="${path}"></iframe></figure>`,
  );
  return join(folder, write("index.html", indexOf(frames.map(({ text }) => text).join("\n"))));
}

/** Every page and mail in a language, by name. @param path of a file or page, as the documents refer to it */
function previewsIn(
  language: Language,
  branding: Branding,
  issuer: string,
  path = (to: string): string => (isAsset(to) ? to.slice(1) : "#"), // files lie beside the pages; links lead nowhere
): readonly (readonly [name: string, page: string])[] {
  const brandings = { of: () => branding, all: () => [branding], current: async () => [branding] };
  const site = { ...siteOf(issuer, brandings), path };
  const writing = { site, language, texts: TEXTS[language] };
  const mail = mailOf("reset", { issuer, brandings }, { realmId: undefined }, { language, token: "0".repeat(64) }, 30);
  return [...Object.entries(pagesOf(writing)).map(([name, page]) => [name, printPage(writing, page)] as const), ["mail", mail.html]];
}

const isAsset = (path: string): boolean => path.startsWith("/assets/");

const dataUrl = (type: string, body: string | Buffer): string => `data:${type};base64,${Buffer.from(body).toString("base64")}`;

/**
 * The same as documents for sandboxed frames of the console. What a branding adds is part of them, for it may not be stored yet.
 * @param nonce of the document around the frames, whose content security policy holds in them
 */
export function previewDocuments(
  branding: Branding,
  issuer: string,
  { language, nonce }: { readonly language: Language; readonly nonce: string },
) {
  const { logo, style } = brandFiles(branding);
  const served = siteOf(issuer, { of: () => branding, all: () => [], current: async () => [] });
  const path = (to: string): string => {
    if (to === logo?.path) return dataUrl(logo.type, logo.body);
    return isAsset(to) ? served.path(to) : "#";
  };
  const linked = style && `<link rel="stylesheet" href="${served.path(style.path)}">`;
  return previewsIn(language, branding, issuer, path).map(([name, page]) => {
    const withStyle = linked === undefined ? page : page.replace(linked, `<style nonce="${nonce}">${style?.body}</style>`);
    return { name, html: withStyle.replaceAll(/<script\b[^>]*><\/script>/g, "") };
  });
}

const indexOf = (frames: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Branding preview</title>
<style>
body { display: flex; flex-wrap: wrap; gap: 2rem; font-family: system-ui, sans-serif; }
figure { margin: 0; }
iframe { width: 390px; height: 844px; max-width: 100%; border: 1px solid; border-radius: 1rem; }
</style>
${frames}
</html>
`;
