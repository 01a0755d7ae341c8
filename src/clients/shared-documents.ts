import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../clock.ts";

/** Texts that processes share and that may be lost at any moment. Neither method ever fails; what cannot be had is not there. */
export interface SharedTexts {
  get(key: string): Promise<string | undefined>;
  set(key: string, text: string, seconds: number): Promise<void>;
}

/** A document with the moment until which it may be used, in seconds since the epoch. */
export interface KeptDocument {
  readonly document: unknown;
  readonly until: number;
}

export interface SharedDocuments {
  get(url: string): Promise<KeptDocument | undefined>;
  set(url: string, kept: KeptDocument): Promise<void>;
}

/**
 * Documents that one process has fetched, for the others. Each is sealed with a secret of the token cores, so that whoever may write where
 * they are kept can lose them, and can put none in their place. What a document says is judged by whoever reads it.
 * @param secret the same in all cores that are to share; with another one a copy is as good as none
 * @param longest seconds for which a copy may be good at most, whatever it says
 */
export function sharedDocuments(texts: SharedTexts, secret: Uint8Array, longest: number, clock: Clock): SharedDocuments {
  const sealOf = (body: string): Buffer => createHmac("sha256", secret).update(body).digest();

  const opened = (url: string, text: string): KeptDocument | undefined => {
    const seal = Buffer.from(text.slice(0, 64), "hex");
    const body = text.slice(64);
    if (seal.length !== 32 || !timingSafeEqual(seal, sealOf(body))) return undefined;
    const { of, document, until } = JSON.parse(body) as KeptDocument & { readonly of: string }; // sealed by us: it has the form that we gave it
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
