import type { Client } from "../../../clients/client.ts";
import type { SecretHash } from "../../../random.ts";

/** A device's request as it is stored. Times in seconds since the epoch; `now` by the database's clock. */
export interface DeviceState {
  readonly id: string;
  readonly deviceCodeHash: SecretHash;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  /** The client of a metadata document as it was at the request. */
  readonly documentClient?: Client | undefined;
  /** The address that the request came from. */
  readonly address: string;
  /** Thumbprint of the key that the device proved: no other key redeems the device code. */
  readonly dpopJkt: string | null;
  readonly expiresAt: number;
  readonly deniedAt: number | null;
  readonly now: number;
}

/** `pollInterval` in seconds. */
export type NewDeviceRequest = Omit<DeviceState, "expiresAt" | "deniedAt" | "now"> & {
  readonly userCodeHash: SecretHash;
  readonly pollInterval: number;
};

/** Requests of devices. An approved one has an authorization code with the hash of its device code (AuthorizationCodes). */
export interface DeviceRequests {
  /** @param ttl seconds  @returns false when one of the codes is taken */
  open(request: NewDeviceRequest, ttl: number): Promise<boolean>;
  byDeviceCode(hash: SecretHash): Promise<DeviceState | undefined>;
  byId(id: string): Promise<DeviceState | undefined>;
  /** The id of the request, if it has neither been decided upon nor expired. */
  pendingByUserCode(hash: SecretHash): Promise<string | undefined>;
  /** Notes a poll. @param step seconds by which the interval grows after a poll that came too soon  @returns whether this one did */
  poll(deviceCodeHash: SecretHash, step: number): Promise<boolean>;
  /** Denies a pending request; does nothing to any other. @returns false for one that was approved before */
  deny(id: string): Promise<boolean>;
}
