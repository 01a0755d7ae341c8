import { text } from "node:stream/consumers";
import { runErrand } from "./agent.ts";

const {
  ISSUER = "http://localhost:3000",
  RESOURCE = "http://localhost:4000/mcp",
  CLIENT_ID = "summary-agent",
  CLIENT_SECRET,
} = process.env;

try {
  if (!CLIENT_SECRET) throw new Error("CLIENT_SECRET is not set");
  const subjectToken = (await text(process.stdin)).trim(); // not among the arguments, where every user of the machine could read it
  if (subjectToken === "") throw new Error("it reads the user's access token from its standard input, and there was none");
  const pendingAction = await runErrand({
    issuer: ISSUER,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    resource: RESOURCE,
    subjectToken,
  });
  console.log(JSON.stringify(pendingAction));
} catch (error) {
  console.error(`the agent did not do it: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
