import { BASE, patience } from "../environment.ts";

/** The script that a page names: with a hash of the whole console. */
const scriptOf = (page: ParentNode): string | undefined =>
  page.querySelector('script[src*="/console/assets/"]')?.getAttribute("src") ?? undefined;

/** Whether the server sends another console now than this one. False where it does not say. */
export async function isOfOtherRelease(): Promise<boolean> {
  const response = await fetch(`${BASE}/console`, { signal: patience() });
  const sent = scriptOf(new DOMParser().parseFromString(await response.text(), "text/html"));
  return sent !== undefined && sent !== scriptOf(document);
}
