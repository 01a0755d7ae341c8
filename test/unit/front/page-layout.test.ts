import { expect, test } from "vitest";
import { field, html } from "../../../src/front/pages/views/layout.ts";

test("values in a page are escaped, except templates", () => {
  const evil = `"><script>alert('x')</script>&`;
  expect(html`<p title="${evil}">${evil}${html`<b>${evil}</b>`}</p>`.text).not.toContain("<script>");
  expect(html`${[1, "<", html`<i>`, [false, null, undefined]]}`.text).toBe("1&lt;<i>");
  expect(() => html`${JSON.parse('{"text":"<script>"}')}`).toThrow();
});

test.for(["email", "password", "text"] as const)("what is typed into a field of the type %s is not sent to a spelling checker", (type) => {
  expect(field("en", [], { name: "code", label: "Code", type, autocomplete: "off" }).text).toContain(' spellcheck="false"');
});
