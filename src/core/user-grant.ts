/** The consent and the person behind a user grant, as they are needed to decide and to print claims. */
export interface Subject {
  readonly userId: string;
  readonly enabled: boolean;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly firstName: string | null;
  readonly lastName: string | null;
}

/** A grant that a person gave, to be opened together with its first tokens. */
export interface NewGrant {
  readonly id: string;
  readonly clientId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
  /** The audience that tokens of this grant carry when nothing narrower is asked for. */
  readonly audience: readonly string[];
  readonly authTime: number;
}
