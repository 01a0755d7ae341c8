import { anId } from "../support/accounts.ts";
import type { Lane } from "./lane.ts";

/** A grant in the model, with its refresh tokens: the last one is current. */
export interface GrantModel {
  readonly id: string;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly refreshTokens: string[];
  familyRevoked: boolean;
  revoked: boolean;
  signedOut: boolean;
  /** In seconds since the start of this sequence. */
  expiresAt: number;
  readonly endsAt: number;
}

/** An access token in the model. */
export interface Node {
  readonly token: string;
  readonly jti: string;
  readonly grant: GrantModel;
  readonly parent: Node | undefined;
  readonly holder: string;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly exp: number;
  /** The acting agents, the current one first. */
  readonly actors: readonly string[];
  revoked: boolean;
  cut: boolean;
}

export interface CodeModel {
  readonly code: string;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  readonly expiresAt: number;
  /** The grant that it was redeemed for; undefined before. */
  grant: GrantModel | undefined;
  dropped: boolean;
}

/** One user, with all grants and tokens of their clients. */
export class Model {
  readonly lane: Lane;
  readonly userId: string;
  readonly nodes: Node[] = [];
  readonly grants: GrantModel[] = [];
  readonly codes: CodeModel[] = [];
  readonly disabled = new Set<string>();
  readonly paused = new Set<string>();
  /** The number of audit records that each request must have written. */
  readonly records = new Map<string, number>();
  session: { readonly id: string; readonly expiresAt: number } | undefined;
  /** Scopes by resource; the empty string is the application itself. */
  consent: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  userEnabled = true;
  /** Seconds since the start of this sequence. */
  passed = 0;

  constructor(lane: Lane, userId: string) {
    this.lane = lane;
    this.userId = userId;
  }

  /** A new request id, under which a step writes its audit records. */
  act(): string {
    const requestId = anId();
    this.records.set(requestId, 0);
    return requestId;
  }

  mustHaveRecords(requestId: string, count: number): void {
    this.records.set(requestId, count);
  }

  isEnabled = (client: string): boolean => !this.disabled.has(client);

  /** The members of a requested audience that are not disabled clients. */
  present = (audience: readonly string[]): readonly string[] => audience.filter(this.isEnabled);

  sessionLives = (): boolean => this.session !== undefined && this.session.expiresAt > this.passed;

  lives(node: Node): boolean {
    return this.isUnrevoked(node) && ancestryOf(node).every(({ exp }) => exp > this.lane.clock.now());
  }

  /** Whether no revocation affects the token. Its expiry a guard reads from the token itself. */
  isUnrevoked(node: Node): boolean {
    const standing = ancestryOf(node).every(
      (one) => !one.revoked && !one.cut && this.isEnabled(one.holder) && !(one.parent && this.paused.has(one.holder)),
    );
    return standing && this.userEnabled && !node.grant.revoked;
  }

  /** The effects of signing out everywhere. */
  endSignIns(): void {
    this.session = undefined;
    this.dropCodes();
    for (const grant of this.grants) {
      grant.familyRevoked = true;
      if (!grant.revoked) grant.signedOut = true;
    }
  }

  dropCodes(): void {
    for (const code of this.codes) if (code.grant === undefined) code.dropped = true;
  }

  endGrants(grants: readonly GrantModel[]): void {
    for (const grant of grants) {
      grant.revoked = true;
      grant.familyRevoked = true;
    }
  }
}

/** A token and its ancestors. */
const ancestryOf = (node: Node): readonly Node[] => [node, ...(node.parent === undefined ? [] : ancestryOf(node.parent))];
