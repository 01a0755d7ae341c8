import type { Guard } from "@countersign/guard";
import { metadata, principalOf, protect } from "@countersign/guard/express";
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from "express";
import { z } from "zod";
import type { Notebook } from "../mcp-server/notes.ts";

/** What express.json says of a body that it cannot take. */
const UnreadableBody = z.object({ statusCode: z.int().min(400).max(499) });
const NewNote = z.object({ text: z.string().min(1).max(2000) });

/** A note as it is told to whoever may read it, and who wrote it down when it was not its owner. */
const noteOf = (text: string, request: Request) => {
  const { sub, actors } = principalOf(request);
  return { owner: sub, text, ...(actors.length > 0 && { writtenBy: actors[0] }) };
};

/**
 * The API: each route says which scopes it needs, all of them, and is called with none of the token but what it says of its caller.
 * Notes belong to the user of the token, whichever agent acts for that user.
 */
export function notesApi(guard: Guard, notes: Notebook): Express {
  const api = express();
  api.disable("x-powered-by");
  api.use(metadata(guard));

  api.get("/notes", protect(guard), (request, response) => {
    response.json({ notes: notes.of(principalOf(request).sub) });
  });

  api.post("/notes", protect(guard, { scopes: ["notes:read", "notes:write"] }), express.json({ limit: "8kb" }), (request, response) => {
    const { success, data } = NewNote.safeParse(request.body);
    if (!success) return refuse(response, 400, "text must have 1 to 2000 characters");
    notes.add(principalOf(request).sub, data.text);
    response.status(201).json(noteOf(data.text, request));
  });

  // What cannot be undone needs a sign-in in two steps or by passkey, at most five minutes old (RFC 9470).
  const confirmed = { acr: ["phr", "urn:countersign:mfa"], maxAge: 300 };
  api.delete("/notes", protect(guard, { scopes: ["notes:read", "notes:write"], requireAuthentication: confirmed }), (request, response) => {
    notes.clear(principalOf(request).sub);
    response.status(204).end();
  });

  api.get("/me", protect(guard, { scopes: [] }), (request, response) => {
    const { sub, clientId, scopes, actors } = principalOf(request);
    response.json({ sub, clientId, scopes, actors });
  });

  api.use((_request, response) => refuse(response, 404, "there is nothing at this path for this method"));
  api.use(withoutStack);
  return api;
}

const refuse = (response: Response, status: number, description: string) =>
  void response.status(status).json({ error: "invalid_request", error_description: description });

/** Bad input is answered in JSON and in the same shape as elsewhere; of a fault nothing is told but that it was one. */
const withoutStack: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (response.headersSent) return next(error);
  const { success, data } = UnreadableBody.safeParse(error);
  if (success) return refuse(response, data.statusCode, "the body cannot be read as JSON of at most 8 kB");
  console.error(error);
  response.status(500).json({ error: "server_error" });
};
