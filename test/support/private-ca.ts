import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

/** As much of DER (X.690) and X.509 (RFC 5280) as a certificate authority for tests needs. */
const length = (size: number): Buffer => {
  if (size < 0x80) return Buffer.from([size]);
  const hex = size.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
};
const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), length(content.length), content]);
};
const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
const octets = (content: Buffer) => der(0x04, content);
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
const utcTime = (time: number) => der(0x17, Buffer.from(`${new Date(time).toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`));
const commonName = (name: string) => sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(name)))));

const ECDSA_WITH_SHA256 = sequence(oid("2a8648ce3d040302"));
const TRUE = der(0x01, Buffer.from([0xff]));
const DAY = 86_400_000;

const address = (ip: string): Buffer =>
  ip.includes(":") ? Buffer.concat([Buffer.alloc(15), Buffer.from([1])]) : Buffer.from(ip.split(".").map(Number)); // IPv6: only ::1
const altNames = (hosts: readonly string[]) =>
  sequence(...hosts.map((host) => (isIP(host) === 0 ? der(0x82, Buffer.from(host)) : der(0x87, address(host)))));

interface Issuer {
  readonly name: string;
  readonly key: KeyObject;
}

function certificate(subject: string, publicKey: KeyObject, issuer: Issuer, extensions: readonly Buffer[], days = 30): string {
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    commonName(issuer.name),
    sequence(utcTime(Date.now() - DAY), utcTime(Date.now() + days * DAY)),
    commonName(subject),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(...extensions)),
  );
  const whole = sequence(body, ECDSA_WITH_SHA256, der(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", body, issuer.key)])));
  const text = whole.toString("base64").replace(/.{64}/g, "$&\n").trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;
}

const newKey = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

/**
 * A private certificate authority. Its name is its own: a process may trust several, and finds the issuer of a certificate by name.
 * @param days until its own certificate expires
 */
export function privateCa(days?: number) {
  const key = newKey();
  const issuer: Issuer = { name: `Countersign test CA ${randomBytes(8).toString("hex")}`, key: key.privateKey };
  const isAuthority = sequence(oid("551d13"), TRUE, octets(sequence(TRUE)));
  const certificatePem = certificate(issuer.name, key.publicKey, issuer, [isAuthority], days);

  return {
    certificatePem,
    /** Key and certificate of a server with these names and addresses. */
    serverFor(...hosts: readonly string[]) {
      const own = newKey();
      const names = sequence(oid("551d11"), octets(altNames(hosts)));
      return {
        key: own.privateKey.export({ type: "pkcs8", format: "pem" }) as string,
        cert: certificate(hosts[0] ?? "", own.publicKey, issuer, [names]),
      };
    },
    /** Trusts the authority in this process, as NODE_EXTRA_CA_CERTS does at the start of one. */
    trustHere(): void {
      setDefaultCACertificates([...getCACertificates("default"), certificatePem]);
    },
  };
}
