import { encode } from "uqr";
import { html, type Markup } from "./layout.ts";

/** Modules of empty space around a code (ISO/IEC 18004 §5.3.8). */
const QUIET = 4;

/** A text as a QR code, black on white in every colour scheme. @param label for screen readers */
export function qrCode(text: string, label: string): Markup {
  const { data, size } = encode(text, { ecc: "L", border: QUIET });
  const dark = data.flatMap((row, y) => row.map((is, x) => (is ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges">
<rect width="${size}" height="${size}" fill="#fff"/><path d="${dark}" fill="#000"/></svg>`;
}
