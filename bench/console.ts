/**
 * How long the console takes to paint, and what many open consoles cost a server. Usage: npm run bench:console -- [--runs 7] [--only paint,channels]
 * On PostgreSQL with BENCH_DATABASE_URL, else embedded. Needs Chromium: CHROMIUM_PATH, or /usr/bin/chromium.
 */
import { parseArgs } from "node:util";
import { channels } from "./console-channels.ts";
import { paint } from "./console-paint.ts";

const { values } = parseArgs({ options: { runs: { type: "string", default: "7" }, only: { type: "string", default: "paint,channels" } } });
const only = values.only.split(",");
if (only.includes("paint")) await paint(Number(values.runs));
if (only.includes("channels")) await channels();
