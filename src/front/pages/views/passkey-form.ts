import { PASSKEY_SCRIPT } from "../assets.ts";
import { html, type Markup, type Part, type Site } from "./layout.ts";

/** The script of pages with such a form. */
export const passkeyHead = (site: Site): Markup => html`<script src="${site.path(PASSKEY_SCRIPT.path)}" defer></script>`;

interface PasskeyForm {
  readonly kind: "sign-in" | "add";
  /** The path to post to; with `/options` appended it returns a challenge. */
  readonly path: string;
  readonly members: Part;
  readonly fields?: Part;
  readonly submit: string;
  readonly quiet: boolean;
  /** Shown when the browser has no answer. */
  readonly failure: string;
  /** Shown when the device has a passkey of this account already. */
  readonly known?: string;
}

/** A form that a script fills in with the browser's answer. It is hidden where browsers cannot use passkeys. */
export const passkeyForm = (
  site: Site,
  { kind, path, members, fields, submit, quiet, failure, known }: PasskeyForm,
): Markup => html`<form method="post" action="${site.path(path)}" class="stack" data-passkey="${kind}" data-options="${site.path(`${path}/options`)}" hidden>
${members}
<input type="hidden" name="response" value="">
${fields}
<p class="fault" role="alert" data-failure hidden>${failure}</p>
${known && html`<p class="fault" role="alert" data-failure="InvalidStateError" hidden>${known}</p>`}
<button class="button button-wide${quiet && html` button-quiet`}" type="submit">${submit}</button>
</form>`;
