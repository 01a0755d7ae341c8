import { describe, expect, test } from "vitest";
import { logoFault, logoFile, MAX_LOGO } from "../../../src/branding/logo.ts";

const svg = (content: string, attributes = "") => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"${attributes}>${content}</svg>`;
const faultOf = (text: string) => logoFault(Buffer.from(text))?.fault;

describe("an image that only draws is a logo", () => {
  test.for([
    ["a path", svg('<title>Acme</title><path d="M0 0h8v8z" fill="#123456"/>')],
    ["a declaration", `<?xml version="1.0"?>\n${svg("<g><circle r='2'/></g>")}`],
    ["a document type", `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">${svg("")}`],
    ["a gradient of its own", svg('<defs><linearGradient id="a"/></defs><rect fill="url(#a)" width="8" height="8"/>')],
    ["a repeated element of its own", svg('<path id="p" d="M0 0"/><use href="#p"/>')],
    ["styles", svg('<style>.a{fill:#123}</style><path class="a" style="stroke:red" d="M0 0"/>')],
  ] as const)("%s", ([, text]) => {
    expect(faultOf(text)).toBeUndefined();
    expect(logoFile(Buffer.from(text).toString("base64"))).toMatchObject({ type: "image/svg+xml", ending: "svg" });
  });

  test.for([
    ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]],
    ["image/jpeg", [0xff, 0xd8, 0xff, 0xe0]],
    ["image/webp", [...Buffer.from("RIFF0000WEBPVP8 ")]],
  ] as const)("%s", ([type, bytes]) => {
    expect(logoFault(Uint8Array.from(bytes))).toBeUndefined();
    expect(logoFile(Buffer.from(bytes).toString("base64")).type).toBe(type);
  });
});

describe("an image that does anything else is refused, with what it does", () => {
  test.for([
    ["a script", svg("<script>alert(1)</script>"), "<script>"],
    ["a script with a prefix", svg('<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>'), "<h:script>"],
    ["a script in another case", svg("<SCRIPT>alert(1)</SCRIPT>"), "<SCRIPT>"],
    ["a handler", svg("", ' onload="alert(1)"'), "onload"],
    ["a handler in another case", svg("", ' onLoad="alert(1)"'), "onLoad"],
    ["a link", svg('<a href="https://evil.example"><path d="M0 0"/></a>'), "<a>"],
    ["an animation that sets a handler", svg('<set attributeName="onload" to="alert(1)"/>'), "<set>"],
    ["embedded HTML", svg("<foreignObject><body/></foreignObject>"), "<foreignObject>"],
    ["an image of another host", svg('<image href="https://evil.example/x.png"/>'), "<image>"],
    ["an element of another file", svg('<use href="https://evil.example/x.svg#a"/>'), "outside"],
    ["the same by xlink", svg('<use xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="x.svg#a"/>'), "outside"],
    ["a style of another host", svg("<style>@import 'https://evil.example'</style>"), "outside"],
    ["the same in character data", svg("<style><![CDATA[@import 'https://evil.example']]></style>"), "outside"],
    ["the same with a comment in its midst", svg("<style>@im<!-- -->port 'https://evil.example'</style>"), "outside"],
    ["the same in two parts", svg("<style>@im<![CDATA[port 'https://evil.example']]></style>"), "outside"],
    ["a picture in a style", svg('<path style="fill:url(https://evil.example)" d="M0 0"/>'), "outside"],
    ["the same with an escape", svg('<path style="fill:u\\72l(https://evil.example)" d="M0 0"/>'), "outside"],
    ["a script URL", svg('<use href="javascript:alert(1)"/>'), "outside"],
    ["entities", `<!DOCTYPE svg [<!ENTITY x "y">]>${svg("&x;")}`, "declarations"],
    ["a style sheet of another file", `<?xml-stylesheet href="x.css"?>${svg("")}`, "processing instruction"],
    ["HTML", "<html><script>alert(1)</script></html>", "<html>"],
    ["XML that is cut off", svg("<g>").slice(0, -6), "well-formed"],
    ["a script", "alert(1)", "neither"],
  ] as const)("%s", ([, text, named]) => {
    expect(faultOf(text)).toContain(named);
  });

  test("a file that is too large", () => {
    expect(logoFault(new Uint8Array(MAX_LOGO + 1))?.fault).toBe("is larger than 64 KiB");
  });
});
