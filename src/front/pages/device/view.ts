import { catalogue, type Language } from "../../texts/language.ts";
import { formView, noticeView } from "../views/cards.ts";
import { type FormPage, hidden, type Markup, type Site } from "../views/layout.ts";

export interface DevicePage extends Pick<FormPage, "token" | "faults"> {
  /** As the user wrote it, or as the link of the device has it. */
  readonly userCode: string | undefined;
}

export function deviceView(site: Site, language: Language, { token, userCode, faults }: DevicePage): Markup {
  const texts = deviceTexts[language];
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
export function deviceDoneView(site: Site, language: Language, outcome: "approved" | "denied" | "failed"): Markup {
  const texts = deviceTexts[language];
  return noticeView(site, language, { tone: outcome === "approved" ? "good" : "plain", ...texts[outcome] });
}

const deviceTexts = catalogue({
  en: {
    title: "Connect a device",
    lead: "Enter the code that your device or program shows.",
    /** When the code came with the link. */
    leadFilled: "Compare this code with the one that your device or program shows.",
    code: "Code",
    hint: "Eight letters, such as BCDF-GHJK.",
    submit: "Continue",
    caution: "Continue only if you started this yourself. Stop if somebody else sent you the code or the link.",
    approved: { title: "Device connected", text: "You can close this page and go back to your device." },
    denied: { title: "Access denied", text: "The device gets no access. You can close this page." },
    failed: { title: "This did not work", text: "The device got no access. Start again on the device." },
  },
  de: {
    title: "Gerät verbinden",
    lead: "Geben Sie den Code ein, den Ihr Gerät oder Programm anzeigt.",
    leadFilled: "Vergleichen Sie diesen Code mit dem, den Ihr Gerät oder Programm anzeigt.",
    code: "Code",
    hint: "Acht Buchstaben, zum Beispiel BCDF-GHJK.",
    submit: "Weiter",
    caution:
      "Machen Sie nur weiter, wenn Sie dies selbst begonnen haben. Brechen Sie ab, wenn jemand anderes Ihnen den Code oder Link geschickt hat.",
    approved: { title: "Gerät verbunden", text: "Sie können diese Seite schließen und zu Ihrem Gerät zurückkehren." },
    denied: { title: "Zugriff abgelehnt", text: "Das Gerät erhält keinen Zugriff. Sie können diese Seite schließen." },
    failed: { title: "Das hat nicht geklappt", text: "Das Gerät hat keinen Zugriff erhalten. Beginnen Sie auf dem Gerät von vorn." },
  },
});
