// Serves a module whose default export has a `fetch` function, as Bun, Deno and workers do. Usage: serve-fetch.mjs MODULE PORT
import { createServer } from "node:http";
import process from "node:process";
import { pathToFileURL } from "node:url";

const [, , file = "", port] = process.argv;
const { default: app } = await import(pathToFileURL(file).href);

createServer(async ({ method, headers, url }, response) => {
  const answer = await app.fetch(new Request(`http://${headers.host}${url}`, { method, headers }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
}).listen(Number(port), "127.0.0.1");
