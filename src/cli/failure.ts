/** What the command line ends with. */
export const EXIT = {
  /** The server said no, or something else went wrong. */
  failed: 1,
  /** Nobody is signed in, or the sign-in failed. */
  notSignedIn: 3,
  notFound: 4,
  /** The server does not answer, or says that it cannot now. */
  unreachable: 5,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_CODES =
  "\nEnds with 0 when done, 1 when refused, 3 when not signed in, 4 when not found, 5 when the server does not answer.";

export const NO_COUNTERSIGN =
  "There is no Countersign at COUNTERSIGN_URL: something else answers there. Set it to the issuer of the server.";

/** A command that ends with a message for people. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
