/** Schemes that browsers or operating systems handle themselves, so that no application can receive an authorization response by them. */
const HANDLED_BY_SYSTEM: ReadonlySet<string> = new Set(
  [
    // Scripts and documents
    "about blob cid content data feed file filesystem jar javascript livescript mhtml mid mocha res resource vbscript view-source",
    "wyciwyg",
    // Web and other network protocols
    "afp dav davs ftp ftps gopher http https ldap ldaps nfs nntp news rlogin sftp smb ssh svn telnet tn3270 webcal webcals ws wss",
    // Messages and calls
    "callto facetime facetime-audio im mailto mms mmsto sip sips sms smsto tel wtai xmpp",
    // The system's own programs, settings and stores
    "android-app applescript app-prefs fido geo hcp help intent itms itms-apps itms-appss itms-services maps market openid4vp",
    "otpauth prefs search search-ms shell shortcuts",
    // Browsers and their parts
    "brave chrome devtools edge firefox googlechrome googlechromes isolated-app microsoft-edge opera read vivaldi",
  ].flatMap((schemes) => schemes.split(" ")),
);

/** Families of such schemes: programs of Windows, settings of macOS, pages of browsers and their extensions. */
const FAMILIES = /^(?:ms-|x-apple|x-safari|chrome-|edge-|firefox-|moz-|microsoft-edge-)|-extension$/;

/** RFC 3986 §3.1. */
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;

/**
 * Whether a redirect URI has a private-use scheme that a client may use. Without a dot, a scheme is no domain name: any program can claim
 * it, so only public clients may use it. @see RFC 8252 §7.1, RFC 3986 §3.1
 */
export function isPrivateUseScheme(uri: string, isPublic: boolean): boolean {
  const scheme = SCHEME.exec(uri)?.[1]?.toLowerCase();
  if (scheme === undefined || HANDLED_BY_SYSTEM.has(scheme) || FAMILIES.test(scheme)) return false;
  return isPublic || scheme.includes(".");
}
