import { startNotesApi } from "./server.ts";

const { RESOURCE } = process.env;
const ISSUER = process.env.ISSUER || "http://localhost:3000"; // an empty variable counts as unset
const PORT = process.env.PORT || "4100";

try {
  const server = await startNotesApi({
    issuer: ISSUER,
    resource: RESOURCE || undefined,
    port: Number(PORT),
    onRefusal: ({ code, reason }) => console.log(`refused: ${code} (${reason})`),
  });
  console.log(`notes, a guarded API, listens on ${server.origin}`);
  console.log(`  resource         ${server.resource}`);
  console.log(`  issuer           ${ISSUER}`);
  console.log("  GET /notes       notes:read");
  console.log('  POST /notes      notes:read and notes:write; { "text": … }');
  console.log("  DELETE /notes    likewise, and a sign-in in two steps or by passkey within 5 minutes");
  console.log("  GET /me          any token for this resource");
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void server.close());
} catch (error) {
  const why = error instanceof Error ? error.message : String(error);
  console.error(`the notes API cannot start: ${why}; its settings are ISSUER, RESOURCE and PORT`);
  process.exitCode = 1;
}
