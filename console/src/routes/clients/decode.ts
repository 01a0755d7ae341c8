import { jwtPart } from "../../jwt-part.ts";

/** Header and claims of a JWT, not verified. Pure. @returns undefined for any other text */
export function decodedToken(token: string): string | undefined {
  const [header, claims, signature, ...rest] = token.split(".");
  if (header === undefined || claims === undefined || signature === undefined || rest.length > 0) return undefined;
  try {
    return [header, claims].map((part) => JSON.stringify(jwtPart(part), null, 2)).join("\n");
  } catch {
    return undefined;
  }
}
