/** The members of an OpenAPI description that the API reference shows. */
export interface ApiDescription {
  readonly info: { readonly version: string; readonly description?: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

export interface Operation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses?: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

export type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

export type Schemas = Readonly<Record<string, Schema>>;

/** An operation with where it stands; the method in capitals. */
export interface Listed extends Operation {
  readonly path: string;
  readonly method: string;
}

/** The name of a schema that stands elsewhere. */
export const nameOf = ({ $ref }: Schema): string | undefined => $ref?.split("/").at(-1);

/** A member of an object, or a parameter. */
export interface Member {
  readonly name: string;
  readonly schema: Schema;
  readonly required?: boolean | undefined;
}

/** The members of a schema with those of its parts. */
export function membersOf(schema: Schema): readonly Member[] {
  const parts = [schema, ...(schema.allOf ?? [])];
  const required = parts.flatMap((part) => part.required ?? []);
  const members = parts.flatMap((part) => Object.entries(part.properties ?? {}));
  return members.map(([name, member]) => ({ name, schema: member, required: required.includes(name) }));
}

/** The schema, wherever it stands. */
export const resolved = (schema: Schema, schemas: Schemas): Schema => schemas[nameOf(schema) ?? ""] ?? schema;
