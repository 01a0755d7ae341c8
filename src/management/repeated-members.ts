const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/gs;

/** Where JSON names a member of an object again: `clients.0.scopes`. JSON.parse keeps the last one alone. @param json valid JSON */
export function repeatedMembers(json: string): string[] {
  const repeated: string[] = [];
  const open: { readonly names: Set<unknown>; at: unknown }[] = [];
  let before = "";
  for (const [token] of json.matchAll(TOKEN)) {
    const inner = open.at(-1);
    if (token === "{" || token === "[") open.push({ names: new Set(), at: token === "[" ? 0 : "" });
    else if (token === "}" || token === "]") open.pop();
    else if (token === "," && typeof inner?.at === "number") inner.at += 1;
    else if (token === ":" && inner !== undefined) {
      inner.at = JSON.parse(before);
      if (inner.names.has(inner.at)) repeated.push(open.map(({ at }) => at).join("."));
      inner.names.add(inner.at);
    }
    before = token;
  }
  return repeated;
}
