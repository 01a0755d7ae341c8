import { startNotesServer } from "./server.ts";

const { RESOURCE } = process.env;
const ISSUER = process.env.ISSUER || "http://localhost:3000"; // an empty variable counts as unset
const PORT = process.env.PORT || "4000";

try {
  const server = await startNotesServer({
    issuer: ISSUER,
    resource: RESOURCE || undefined,
    port: Number(PORT),
    onRefusal: ({ code, reason }) => console.log(`refused: ${code} (${reason})`),
  });
  console.log(`notes, a guarded MCP server, listens on http://localhost:${server.port}`);
  console.log(`  resource  ${server.resource}`);
  console.log(`  issuer    ${ISSUER}`);
  console.log("  scopes    notes:read for every call, notes:write to add a note");
  console.log(`            (an issuer in development finds them by itself; another needs: countersign resources add ${server.resource})`);
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void server.close());
} catch (error) {
  const why = error instanceof Error ? error.message : String(error);
  console.error(`the notes server cannot start: ${why}; its settings are ISSUER, RESOURCE and PORT`);
  process.exitCode = 1;
}
