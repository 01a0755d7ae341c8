import { z } from "zod";
import { resource, scope } from "../http/describe.ts";

/** The parameters of an authorization request in the API description. */
export const authorizeParameters = () =>
  z.object({
    response_type: z.literal("code"),
    client_id: z.string(),
    redirect_uri: z.string(),
    code_challenge: z.string(),
    code_challenge_method: z.literal("S256"),
    scope: scope().optional(),
    state: z.string().optional(),
    nonce: z.string().optional(),
    resource: resource(),
    prompt: z.string().optional(),
    max_age: z.string().optional(),
    acr_values: z.string().optional(),
    login_hint: z.string().optional(),
    id_token_hint: z.string().optional(),
    dpop_jkt: z.string().optional().meta({ description: "The thumbprint of the key that the code is bound to (RFC 9449 §10)." }),
    ui_locales: z.string().optional(),
  });
