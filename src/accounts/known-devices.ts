import { hashSecret, type SecretHash } from "../random.ts";

/** Seconds that a browser stays known after its last sign-in. */
export const DEVICE_TTL = 90 * 86_400;

/** Browsers in which users have signed in to an account. They have limits of their own, which no one else can use up. */
export interface KnownDevices {
  isKnown(key: SecretHash): Promise<boolean>;
  /** @param ttl in seconds */
  remember(key: SecretHash, userId: string, ttl: number): Promise<void>;
}

/** Makes typed addresses comparable. */
export const accountName = (email: string): string => email.trim().normalize("NFC").toLowerCase();

/** The key of an account in a browser. @param device the secret of the browser's cookie */
export const deviceKey = (email: string, device: string): SecretHash => hashSecret(`device\n${accountName(email)}\n${device}`);

/** The key of the caller's browser, if the user of the address has signed in with it before. */
export async function knownDeviceOf(
  email: string,
  { device }: { readonly device?: string | undefined },
  devices: KnownDevices,
): Promise<SecretHash | undefined> {
  const key = device === undefined ? undefined : deviceKey(email, device);
  return key !== undefined && (await devices.isKnown(key)) ? key : undefined;
}
