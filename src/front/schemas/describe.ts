import type { z } from "zod";
import type { ZodOpenApiRequestBodyObject, ZodOpenApiResponseObject } from "zod-openapi";

/** The few shapes in which bodies appear in the API description. */

export const json = (description: string, schema: z.ZodType): ZodOpenApiResponseObject => ({
  description,
  content: { "application/json": { schema } },
});

export const text = (description: string, type = "text/plain"): ZodOpenApiResponseObject => ({
  description,
  content: { [type]: { schema: { type: "string" } } },
});

export const form = (schema: z.ZodType): ZodOpenApiRequestBodyObject => ({
  required: true,
  content: { "application/x-www-form-urlencoded": { schema } },
});

export const jsonRequest = (schema: z.ZodType): ZodOpenApiRequestBodyObject => ({
  required: true,
  content: { "application/json": { schema } },
});
