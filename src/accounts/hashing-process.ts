import { type HashingJob, runHashingJob } from "./hashing-job.ts";

/** The module of the process that hashes passwords. @see password-hash.ts */

export interface HashingRequest {
  readonly id: number;
  readonly job: HashingJob;
}
export interface HashingResponse {
  readonly id: number;
  readonly result: string | boolean | { readonly error: string };
}

process.on("message", ({ id, job }: HashingRequest) => {
  runHashingJob(job)
    .catch((error: unknown) => ({ error: error instanceof Error ? error.message : "hashing failed" }))
    .then((result) => process.send?.({ id, result } satisfies HashingResponse));
});
// A terminal and a supervisor signal the whole group: the server still needs hashes for the requests that it finishes.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
process.on("disconnect", () => process.exit());
