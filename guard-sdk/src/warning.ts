/** Reports an error that no caller waits for. It neither gets lost nor ends the process. */
export function warn(error: unknown): void {
  const warning = error instanceof Error ? error : String(error);
  // biome-ignore lint/suspicious/noConsole: workers have no other place for a warning.
  if (globalThis.process?.emitWarning === undefined) console.warn(warning);
  else process.emitWarning(warning);
}
