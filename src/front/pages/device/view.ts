import { type Language, TEXTS } from "../../../texts/languages.ts";
import { formView, noticeView } from "../views/cards.ts";
import { type FormPage, type HostedPage, hidden, type Site } from "../views/layout.ts";

export interface DevicePage extends Pick<FormPage, "token" | "faults"> {
  /** As the user wrote it, or as the link of the device has it. */
  readonly userCode: string | undefined;
}

export function deviceView(site: Site, language: Language, { token, userCode, faults }: DevicePage): HostedPage {
  const texts = TEXTS[language].device;
  return formView(site, language, {
    title: texts.title,
    lead: userCode === undefined || faults.length > 0 ? texts.lead : texts.leadFilled,
    action: site.path("/device"),
    members: hidden(token),
    fields: [
      { name: "user_code", label: texts.code, type: "text", autocomplete: "off", value: userCode, autofocus: true, hint: texts.hint },
    ],
    faults,
    submit: texts.submit,
    after: texts.caution,
  });
}

/** What the user decided. */
export function deviceDoneView(site: Site, language: Language, outcome: "approved" | "denied" | "failed"): HostedPage {
  const texts = TEXTS[language].device;
  return noticeView(site, language, { tone: outcome === "approved" ? "good" : "plain", ...texts[outcome] });
}
