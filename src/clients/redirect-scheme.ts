/**
 * Schemes that a browser or an operating system acts upon itself, so that no application can receive an authorization response by them.
 * Each of them would run a script, open a document or a message, start a system program, or send the code in clear text.
 */
const ACTED_UPON: ReadonlySet<string> = new Set([
  // Scripts and documents
  ...["about", "blob", "cid", "content", "data", "feed", "file", "filesystem", "jar", "javascript", "livescript", "mhtml", "mid", "mocha"],
  ...["res", "resource", "vbscript", "view-source", "wyciwyg"],
  // Web and other network protocols
  ...[
    "afp",
    "dav",
    "davs",
    "ftp",
    "ftps",
    "gopher",
    "http",
    "https",
    "ldap",
    "ldaps",
    "nfs",
    "nntp",
    "news",
    "rlogin",
    "sftp",
    "smb",
    "ssh",
  ],
  ...["svn", "telnet", "tn3270", "webcal", "webcals", "ws", "wss"],
  // Messages and calls
  ...["callto", "facetime", "facetime-audio", "im", "mailto", "mms", "mmsto", "sip", "sips", "sms", "smsto", "tel", "wtai", "xmpp"],
  // The system's own programs, settings and stores
  ...[
    "android-app",
    "applescript",
    "app-prefs",
    "fido",
    "geo",
    "hcp",
    "help",
    "intent",
    "itms",
    "itms-apps",
    "itms-appss",
    "itms-services",
  ],
  ...["maps", "market", "openid4vp", "otpauth", "prefs", "search", "search-ms", "shell", "shortcuts"],
  // Browsers and their parts
  ...["brave", "chrome", "devtools", "edge", "firefox", "googlechrome", "googlechromes", "isolated-app", "microsoft-edge", "opera"],
  ...["read", "vivaldi"],
]);

/** Families of the same: Windows' own programs, macOS's own settings, pages of browsers and their extensions. */
const FAMILIES = /^(?:ms-|x-apple|x-safari|chrome-|edge-|firefox-|moz-|microsoft-edge-)|-extension$/;

/** RFC 3986 §3.1. */
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;

/**
 * Whether a redirect URI has a private-use scheme that a client may have. A scheme with a dot is a domain name reversed, and so has an
 * owner; one without belongs to any program that claims it, which suits public clients alone.
 * @see RFC 8252 §7.1, RFC 3986 §3.1
 */
export function isPrivateUseScheme(uri: string, isPublic: boolean): boolean {
  const scheme = SCHEME.exec(uri)?.[1]?.toLowerCase();
  if (scheme === undefined || ACTED_UPON.has(scheme) || FAMILIES.test(scheme)) return false;
  return isPublic || scheme.includes(".");
}
