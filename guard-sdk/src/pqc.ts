// The entry point @countersign/guard/pqc.
export { requireHybrid } from "./hybrid-verification.ts";
export { createPqcVerifier, type DetachedSignature, type PqcOptions, type PqcVerdict, type PqcVerifier } from "./pqc-verifier.ts";
