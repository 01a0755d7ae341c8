/** Under whose name users are asked. Each member may be left open. */
export interface Branding {
  /** Of the product or company. */
  readonly name?: string | undefined;
  /** An image without logoFault, in base64: settings and records are JSON. */
  readonly logo?: string | undefined;
  /** The colour of buttons and links, without accentFault. */
  readonly accent?: string | undefined;
  readonly termsUrl?: string | undefined;
  readonly privacyUrl?: string | undefined;
  /** An e-mail address, or the URL of a page. */
  readonly support?: string | undefined;
}

/** The name where there is none. */
export const DEFAULT_NAME = "Countersign";

/** Where pages and mails find the branding of a realm. */
export interface Brandings {
  /** Of a realm, and of the deployment where the realm leaves something open. @param realmId undefined: the default realm */
  of(realmId: string | undefined): Branding;
  /** Those that pages of this process may have. */
  all(): readonly Branding[];
  /** The same, read again if that is due. */
  current(): Promise<readonly Branding[]>;
}

/** A branding whose open members, which null are too, are those of another one. Pure. */
export const brandingOver = (own: { readonly [Member in keyof Branding]: Branding[Member] | null }, base: Branding): Branding => {
  const set = Object.entries(own).filter(([, value]) => value !== undefined && value !== null);
  return { ...base, ...Object.fromEntries(set) };
};

const isAddress = (support: string): boolean => support.includes("@") && !support.includes("/");

/** The address of a link to the support. */
export const supportLink = (support: string): string => (isAddress(support) ? `mailto:${support}` : support);
