import type { Authorization } from "../../../gen/countersign/token/v1/token_pb.ts";
import { clientTexts } from "../../texts/client.ts";
import type { Language } from "../../texts/language.ts";
import { isOnThisDevice, shownHost, shownName } from "../client-view.ts";
import { html, type Markup } from "../html.ts";

/** What a page shows of the application that asks. */
export interface ShownClient {
  /** The application's own words. */
  readonly name: string;
  /** Host of a client_id that is an address; verified, since the service fetched it. */
  readonly verifiedHost: string | undefined;
  /** Where the browser goes back to. */
  readonly returnHost: string;
  readonly onThisDevice: boolean;
  readonly environment: string | undefined;
  readonly openRegistration: boolean;
  /** Whether the name is the word of whoever registered it, and no operator has taken the application on. */
  readonly nameUnverified: boolean;
}

export function shownClient(language: Language, { client }: Authorization, redirectUri: string): ShownClient {
  const clientId = client?.clientId ?? "";
  return {
    name: shownName(language, client?.name ?? clientId),
    verifiedHost: client?.verifiedHost === undefined ? undefined : shownHost(`https://${client.verifiedHost}`),
    returnHost: shownHost(redirectUri),
    onThisDevice: isOnThisDevice(redirectUri),
    environment: client?.environment,
    openRegistration: client?.openRegistration ?? true,
    nameUnverified: (client?.openRegistration ?? true) || client?.environment === "development" || client?.environment === "staging",
  };
}

/** The name with the hosts that stand for it: a name alone says nothing, for anyone can choose any. */
export const clientLine = (language: Language, { name, verifiedHost, returnHost }: ShownClient): Markup =>
  html`<strong class="client-name"><bdi>${name}</bdi></strong> <span class="hosts">(${
    verifiedHost !== undefined &&
    verifiedHost !== returnHost &&
    html`<span class="host">${verifiedHost}</span>, ${clientTexts[language].backTo} `
  }<span class="host">${returnHost}</span>)</span>`;
