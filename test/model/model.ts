import { anId } from "../support/accounts.ts";
import type { Lane } from "./lane.ts";

/** A grant as the model knows it, with its refresh tokens: the last one is current. */
export interface GrantModel {
  readonly id: string;
  readonly scopes: readonly string[];
  readonly places: readonly string[];
  readonly refreshTokens: string[];
  familyRevoked: boolean;
  revoked: boolean;
  signedOut: boolean;
  /** In seconds that have passed in this sequence. */
  expiresAt: number;
  readonly endsAt: number;
}

/** An access token as the model knows it. */
export interface Node {
  readonly token: string;
  readonly jti: string;
  readonly grant: GrantModel;
  readonly parent: Node | undefined;
  readonly holder: string;
  readonly scopes: readonly string[];
  readonly places: readonly string[];
  readonly exp: number;
  /** The agents that act, the last one first. */
  readonly actors: readonly string[];
  revoked: boolean;
  cut: boolean;
}

export interface CodeModel {
  readonly code: string;
  readonly scopes: readonly string[];
  readonly places: readonly string[];
  readonly expiresAt: number;
  /** The grant that it was redeemed for. */
  grant: GrantModel | undefined;
  dropped: boolean;
}

/** One user, and all that came of what they and their clients did. */
export class Model {
  readonly lane: Lane;
  readonly userId: string;
  readonly nodes: Node[] = [];
  readonly grants: GrantModel[] = [];
  readonly codes: CodeModel[] = [];
  readonly disabled = new Set<string>();
  readonly paused = new Set<string>();
  /** How many records each act must have left. */
  readonly records = new Map<string, number>();
  session: { readonly id: string; readonly expiresAt: number } | undefined;
  /** Scopes by place; the empty text is the application itself. */
  consent: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  userEnabled = true;
  /** Seconds that have passed in this sequence. */
  passed = 0;

  constructor(lane: Lane, userId: string) {
    this.lane = lane;
    this.userId = userId;
  }

  /** The id under which an act leaves its records. */
  act(): string {
    const requestId = anId();
    this.records.set(requestId, 0);
    return requestId;
  }

  mustHaveRecords(requestId: string, count: number): void {
    this.records.set(requestId, count);
  }

  isEnabled = (client: string): boolean => !this.disabled.has(client);

  /** Of the places that a token would be for, those that are no disabled client. */
  present = (places: readonly string[]): readonly string[] => places.filter(this.isEnabled);

  sessionLives = (): boolean => this.session !== undefined && this.session.expiresAt > this.passed;

  lives(node: Node): boolean {
    return this.stands(node) && lineOf(node).every(({ exp }) => exp > this.lane.clock.now());
  }

  /** Whether nothing has ended it before its time: what a guard can learn, which reads the time itself. */
  stands(node: Node): boolean {
    const standing = lineOf(node).every(
      (one) => !one.revoked && !one.cut && this.isEnabled(one.holder) && !(one.parent && this.paused.has(one.holder)),
    );
    return standing && this.userEnabled && !node.grant.revoked;
  }

  /** What signing out everywhere ends. */
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

/** A token and those that it came of. */
const lineOf = (node: Node): readonly Node[] => [node, ...(node.parent === undefined ? [] : lineOf(node.parent))];
