import { TRY_SCRIPT } from "../pages/assets.ts";
import { type HostedPage, html, type Markup, type Part, type Site } from "../pages/views/layout.ts";
import {
  type ApiDescription,
  type Content,
  type Listed,
  type Member,
  membersOf,
  nameOf,
  type Operation,
  type Parameter,
  resolved,
  type Schema,
  type Schemas,
} from "./api-description.ts";
import { credentialFields, tryForm } from "./try-it.ts";

/** Groups in this order; others follow. */
const FIRST = ["OAuth", "Discovery", "Resource servers"];

/** What a caller sends to prove who it is, by security scheme. */
const PROOFS: Readonly<Record<string, string>> = {
  bearer: "Access token (Bearer)",
  clientBasic: "Client id and secret (HTTP Basic)",
  session: "Session cookie",
};

/** The API reference: a page that works without scripts, and sends requests with one; in English as the description is. @param version of the software */
export function referenceView(site: Site, description: ApiDescription, version: string): HostedPage {
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Listed => ({ ...operation, path, method: method.toUpperCase() })),
  );
  const groups = Map.groupBy(operations, ({ tags }) => tags?.[0] ?? "Other");
  const names = [...FIRST.filter((name) => groups.has(name)), ...[...groups.keys()].filter((name) => !FIRST.includes(name))];
  const components = description.components?.schemas ?? {};
  const schemas = Object.entries(components);
  const writing = { site, schemas: components };
  return {
    title: "API reference",
    width: "wide",
    head: html`<script type="module" src="${site.path(TRY_SCRIPT.path)}"></script>`,
    content: html`<h1>API reference</h1>
<p class="lead">Server ${version}, API ${description.info.version}. Also as an <a href="${site.path("/openapi.json")}">OpenAPI 3.1 document</a>.</p>
<p>${withCode(description.info.description ?? "")}</p>
<nav aria-label="Sections"><ul class="foot-links reference-nav">${[...names, "Schemas"].map((name) => html`<li><a href="#${anchor(name)}">${name}</a></li>`)}</ul></nav>
${credentialFields}
${names.map((name) => html`<section class="card reference"><h2 id="${anchor(name)}">${name}</h2>${groups.get(name)?.map((one) => operationItem(one, writing))}</section>`)}
<section class="card reference"><h2 id="schemas">Schemas</h2>${schemas.map(
      ([name, schema]) => html`<h3 id="schema-${name}">${name}</h3>
${schema.description !== undefined && html`<p>${schema.description}</p>`}${shape(schema)}`,
    )}</section>`,
  };
}

const anchor = (name: string): string => name.toLowerCase().replaceAll(" ", "-");

/** A text whose words between backticks are code. */
const withCode = (text: string): Part => text.split("`").map((piece, index) => (index % 2 === 0 ? piece : html`<code>${piece}</code>`));

function operationItem(operation: Listed, { site, schemas }: { readonly site: Site; readonly schemas: Schemas }): Markup {
  const { method, path, summary, description, security, parameters, requestBody, responses } = operation;
  return html`<details>
<summary><span class="tag">${method}</span> <code>${path}</code> <span class="small">${summary}</span></summary>
${description !== undefined && html`<p>${withCode(description)}</p>`}
<p class="small">${proofs(security)}</p>
${parameters !== undefined && html`<h3>Parameters</h3>${fields(parameters.map((each) => ({ ...each, schema: each.schema ?? {}, note: each.in })))}`}
${requestBody !== undefined && html`<h3>Request</h3>${requests(requestBody.content, schemas)}`}
<h3>Responses</h3>
<dl class="responses">${Object.entries(responses ?? {}).map(
    ([status, response]) =>
      html`<dt><code>${status}</code></dt><dd>${withCode(response.description)} ${bodies(response.content ?? {})}</dd>`,
  )}</dl>
${tryForm(operation, schemas, site.path(path))}
</details>`;
}

const proofs = (security: Operation["security"]): string => {
  const ways = (security ?? []).flatMap((one) => Object.keys(one)).map((name) => PROOFS[name] ?? name);
  if (ways.length === 0) return "No authentication by a header.";
  const optional = security?.some((one) => Object.keys(one).length === 0);
  return `Authentication${optional ? ", optional" : ""}: ${ways.join(", or ")}.`;
};

/** Bodies of requests with all members, as they are what a caller has to write. */
const requests = (content: Content, schemas: Schemas): Part =>
  Object.entries(content).map(
    ([type, { schema = {} }]) => html`<p class="small"><code>${type}</code></p>${shape(resolved(schema, schemas))}`,
  );

const bodies = (content: Content): Part =>
  Object.entries(content).map(
    ([type, { schema = {} }]) => html`<p class="small"><code>${type}</code>${schema.$ref !== undefined && html` ${typeOf(schema)}`}</p>
${schema.$ref === undefined && shape(schema)}`,
  );

/** The members of a schema, or its type where it has none. */
function shape(schema: Schema): Part {
  const members = membersOf(schema);
  if (members.length === 0) return schema.type === "string" ? undefined : html`<p class="small">${typeOf(schema)}</p>`;
  return fields(members);
}

interface FieldRow extends Member, Pick<Parameter, "description"> {
  readonly note?: string;
}

const fields = (rows: readonly FieldRow[]): Markup =>
  html`<dl class="fields">${rows.map(
    ({ name, required, schema, description = schema.description, note }) => html`<dt><code>${name}</code></dt>
<dd>${typeOf(schema)}${note !== undefined && `, in the ${note}`}${required && ", required"}${description !== undefined && html`. ${withCode(description)}`}</dd>`,
  )}</dl>`;

function typeOf(schema: Schema): Part {
  const name = nameOf(schema);
  if (name !== undefined) return html`<a href="#schema-${name}">${name}</a>`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map((choice, index) => html`${index > 0 && " or "}${typeOf(choice)}`);
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum !== undefined) return schema.enum.map((value, index) => html`${index > 0 && ", "}<code>${JSON.stringify(value)}</code>`);
  if (schema.items !== undefined) return html`list of ${typeOf(schema.items)}`;
  const type = [schema.type ?? "any value"].flat().join(" or ");
  return schema.format === undefined ? type : `${type} (${schema.format})`;
}
