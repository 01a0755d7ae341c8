import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../clock.ts";

/** A cache that processes share. Entries may be lost at any time, and neither method throws. */
export interface SharedTexts {
  get(key: string): Promise<string | undefined>;
  set(key: string, text: string, seconds: number): Promise<void>;
}

/** A document with its expiry in seconds since the epoch. */
export type KeptDocument = { readonly document: unknown; readonly until: number };

export interface SharedDocuments {
  get(url: string): Promise<KeptDocument | undefined>;
  set(url: string, kept: KeptDocument): Promise<void>;
}

/**
 * Documents that one process fetched, for the others. They are authenticated with a secret of the token cores: write access to the cache
 * does not suffice to forge them. Readers validate the content.
 * @param longest the most seconds for which a copy is used
 */
export function sharedDocuments(texts: SharedTexts, secret: Uint8Array, longest: number, clock: Clock): SharedDocuments {
  const sealOf = (body: string): Buffer => createHmac("sha256", secret).update(body).digest();

  const opened = (url: string, text: string): KeptDocument | undefined => {
    const seal = Buffer.from(text.slice(0, 64), "hex");
    const body = text.slice(64);
    if (seal.length !== 32 || !timingSafeEqual(seal, sealOf(body))) return undefined;
    const { of, document, until } = JSON.parse(body) as KeptDocument & { readonly of: string }; // authenticated, so it has the form written below
    return of === url && until > clock() && until <= clock() + longest ? { document, until } : undefined;
  };

  return {
    get: async (url) => {
      const text = await texts.get(url);
      return text === undefined ? undefined : opened(url, text);
    },
    set: async (url, { document, until }) => {
      const body = JSON.stringify({ of: url, document, until });
      await texts.set(url, sealOf(body).toString("hex") + body, until - clock());
    },
  };
}
