import { text } from "node:stream/consumers";
import { agent, type WorkloadTokenSource } from "@countersign/agent";
import { githubToken, kubernetesToken } from "@countersign/agent/workload";
import { summarize } from "./agent.ts";
import { startPlatform } from "./platform.ts";

const {
  ISSUER = "http://localhost:3000",
  RESOURCE = "http://localhost:4000/mcp",
  CLIENT_ID = "summary-agent",
  /** The platform that stands in for a cluster where the agent runs on none. */
  PLATFORM = "http://localhost:4190",
  /** Where Kubernetes puts the token of the service account. */
  TOKEN_FILE,
} = process.env;

/** How the platform says who the agent is. The agent itself has no secret. */
async function platform(): Promise<{ readonly credential: WorkloadTokenSource; close(): Promise<void> }> {
  const close = async () => undefined;
  if (TOKEN_FILE) return { credential: kubernetesToken(TOKEN_FILE), close };
  if (process.env.ACTIONS_ID_TOKEN_REQUEST_URL) return { credential: githubToken(), close };
  return startPlatform(PLATFORM);
}

let close = async (): Promise<void> => undefined;
try {
  const { credential, ...opened } = await platform();
  close = opened.close;
  const subjectToken = (await text(process.stdin)).trim(); // not among the arguments, where every user of the machine could read it
  if (subjectToken === "")
    throw new Error(
      "it reads the user's access token from its standard input, and there was none; docs/agents.md has the commands of this example",
    );
  const summary = agent({ issuer: ISSUER, clientId: CLIENT_ID, credential });
  console.log(JSON.stringify(await summarize(summary, { resource: RESOURCE, subjectToken })));
} catch (error) {
  console.error(`the agent did not do it: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  await close();
}
