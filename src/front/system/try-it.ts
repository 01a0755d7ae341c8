import { field, html, type Markup, type Part } from "../pages/views/layout.ts";
import { type Listed, type Member, membersOf, type Operation, resolved, type Schema, type Schemas } from "./api-description.ts";

/** What the script of the reference needs to send requests; all of it is hidden until that runs. */

const credential = (name: string, label: string, type: "text" | "password"): Markup =>
  field("en", [], { name, label, type, autocomplete: type === "password" ? "new-password" : "off", optional: true });

/** What operations that authenticate are sent with. Password managers must not fill in here what signs users in. */
export const credentialFields: Markup = html`<section class="card reference" data-try hidden><h2>Try it</h2>
<p class="small">For the requests that this page sends. Nothing of it is stored; it is gone with the page.</p>
<div class="try-fields">
${credential("token", "Access token (Bearer)", "password")}
${credential("client_id", "Client id (HTTP Basic)", "text")}
${credential("client_secret", "Client secret (HTTP Basic)", "password")}
</div></section>`;

const FORM = "application/x-www-form-urlencoded";
const JSON_TYPE = "application/json";

/** Whether a browser has to go there itself: a page, or what redirects. */
const isForBrowsers = ({ responses = {} }: Operation): boolean =>
  ["302", "303"].some((status) => status in responses) || Object.keys(responses["200"]?.content ?? {}).join() === "text/html";

/** The form that sends a request; a link instead where browsers have to go; nothing where they get only by a form of another page. */
export function tryForm(operation: Listed, schemas: Schemas, target: string): Part {
  const { method, path, security = [], parameters = [], requestBody } = operation;
  const opens = isForBrowsers(operation);
  if (opens && method !== "GET") return undefined;
  const content = requestBody?.content ?? {};
  const members = membersOf(resolved(content[FORM]?.schema ?? {}, schemas));
  const fields = [
    ...parameters.map(({ schema = {}, ...each }) => input({ ...each, schema: resolved(schema, schemas) }, each.in)),
    ...members.map((member) => input({ ...member, schema: resolved(member.schema, schemas) }, "form")),
  ];
  const json = content[JSON_TYPE]?.schema;
  const [proof] = security.flatMap((one) => Object.keys(one));
  const isOptional = security.some((one) => Object.keys(one).length === 0);
  const name = `${method} ${path}`;
  return html`<form class="try" data-try data-method="${method}" data-target="${target}" ${proof !== undefined && html` data-proof="${proof}"`}${isOptional && html` data-optional`} hidden>
<h3>Try it</h3>
${fields.length > 0 && html`<div class="try-fields">${fields}</div>`}
${json !== undefined && html`<label class="field">Body, ${JSON_TYPE}<textarea name="body" data-in="json" rows="8" spellcheck="false">${JSON.stringify(exampleOf(json, schemas), null, 2)}</textarea></label>`}
${opens ? html`<p class="actions"><a class="button button-quiet" href="${target}" target="_blank" rel="noopener" data-opens aria-label="Open in a new tab: ${path}">Open in a new tab</a></p>` : sending(method, name)}
</form>`;
}

function sending(method: string, name: string): Markup {
  const words = method === "DELETE" ? "Send DELETE, which deletes" : `Send ${method}`;
  return html`<p class="actions"><button class="button ${method === "DELETE" ? "button-deny" : "button-quiet"}" aria-label="${words}: ${name}">${words}</button>
<button class="button button-quiet" type="button" data-copies aria-label="Copy as curl: ${name}">Copy as curl</button></p>
<pre data-curl></pre>
<p role="status"></p>
<pre class="try-answer" role="group" aria-label="Answer of ${name}" tabindex="0" hidden></pre>`;
}

/** A labelled input. @param place where the request has it */
function input({ name, schema, required }: Member, place: string): Markup {
  const many = schema.items !== undefined;
  const words = [place !== "form" && `in the ${place}`, required && "required", many && "one on each line"].filter(Boolean).join(", ");
  const given = html` name="${name}" data-in="${place}"${required && html` required`}`;
  const value = required ? (schema.const ?? schema.example) : undefined;
  const control =
    schema.enum !== undefined
      ? html`<select${given}>${["", ...schema.enum].map((choice) => html`<option>${String(choice)}</option>`)}</select>`
      : many
        ? html`<textarea${given} rows="1" spellcheck="false"></textarea>`
        : html`<input${given}${value !== undefined && html` value="${String(value)}"`} autocomplete="off" autocapitalize="none" spellcheck="false">`;
  return html`<label class="field"><span><code>${name}</code>${words !== "" && html` <span class="optional">${words}</span>`}</span>${control}</label>`;
}

const BLANK: Readonly<Record<string, unknown>> = { string: "", integer: 0, number: 0, boolean: false, null: null };

/**
 * A value to begin with: an object has the members that are required or have an example, or the first one where there are none. Pure.
 */
export function exampleOf(schema: Schema, schemas: Schemas): unknown {
  const { example, const: only, default: usual, enum: choices, items, anyOf, oneOf, type } = resolved(schema, schemas);
  const stated = [example, only, usual, choices?.[0]].find((each) => each !== undefined);
  if (stated !== undefined) return stated;
  const choice = (anyOf ?? oneOf)?.[0];
  if (choice !== undefined) return exampleOf(choice, schemas);
  if (items !== undefined) return [exampleOf(items, schemas)];
  const members = membersOf(resolved(schema, schemas));
  const needed = members.filter((member) => member.required || resolved(member.schema, schemas).example !== undefined);
  if (members.length > 0 || type === "object")
    return Object.fromEntries(
      (needed.length > 0 ? needed : members.slice(0, 1)).map((each) => [each.name, exampleOf(each.schema, schemas)]),
    );
  return BLANK[[type ?? "string"].flat()[0] ?? ""];
}
