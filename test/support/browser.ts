/** A client with cookies and forms, but without JavaScript. */

interface Form {
  readonly action: string;
  readonly fields: Record<string, string>;
}

const attribute = (tag: string, name: string): string | undefined => {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  return value?.replaceAll("&amp;", "&").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">");
};

/** The forms of a page, with the fields that a browser sends by default. */
export function formsOf(html: string, base: string): readonly Form[] {
  return [...html.matchAll(/<form\b[^>]*>[\s\S]*?<\/form>/g)].map(([text]) => {
    const open = text.slice(0, text.indexOf(">") + 1);
    const inputs = [...text.matchAll(/<input\b[^>]*>/g)].map(([tag]) => [attribute(tag, "name"), attribute(tag, "value") ?? ""] as const);
    const fields = Object.fromEntries(inputs.filter((entry): entry is readonly [string, string] => entry[0] !== undefined));
    return { action: new URL(attribute(open, "action") ?? "", base).href, fields };
  });
}

export interface Visit {
  readonly status: number;
  readonly url: string;
  readonly html: string;
  readonly headers: Headers;
}

/**
 * @param always headers of every request, such as accept-language
 * @param front where the origin is reached, as one of several fronts behind a balancer
 */
export function aBrowser(origin: string, always: Readonly<Record<string, string>> = {}, front = origin) {
  const cookies = new Map<string, string>();

  /** One request, without following redirects. */
  async function request(url: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers({ ...always, ...Object.fromEntries(new Headers(init.headers)) });
    if (cookies.size > 0) headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    const { href } = new URL(url, origin);
    const response = await fetch(href.startsWith(origin) ? front + href.slice(origin.length) : href, {
      ...init,
      headers,
      redirect: "manual",
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
      if (value === "" || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  }

  /** Follows redirects within the server; a redirect to another origin ends the visit and becomes its url. */
  async function follow(url: string, init?: RequestInit): Promise<Visit> {
    let response = await request(url, init);
    let at = new URL(url, origin).href;
    for (let hops = 0; response.status >= 300 && response.status < 400 && hops < 10; hops++) {
      at = new URL(response.headers.get("location") ?? "", at).href;
      if (!at.startsWith(origin))
        return { status: response.status, url: response.headers.get("location") ?? "", html: "", headers: response.headers };
      response = await request(at);
    }
    return { status: response.status, url: at, html: await response.text(), headers: response.headers };
  }

  /** Fills in and submits the form that contains the given field or button; the first one of the page without any. */
  async function submit(page: Visit, entries: Record<string, string>): Promise<Visit> {
    const [name = "form_token"] = Object.keys(entries);
    const blocks = [...page.html.matchAll(/<form\b[^>]*>[\s\S]*?<\/form>/g)].map(([text]) => text);
    const index = blocks.findIndex((text) => text.includes(`name="${name}"`));
    const form = formsOf(page.html, page.url)[index];
    if (form === undefined) throw new Error(`no form with ${name} on ${page.url} (${page.status}): ${page.html.slice(0, 400)}`);
    const body = new URLSearchParams({ ...form.fields, ...entries });
    return follow(form.action, { method: "POST", body, headers: { origin: new URL(origin).origin } });
  }

  const json = async (path: string, body: unknown, method = "POST", headers: Record<string, string> = {}) => {
    const response = await request(path, {
      method,
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
  };

  return { cookies, request, follow, submit, json };
}

export type Browser = ReturnType<typeof aBrowser>;
