export const schemaTypes = ['AVRO', 'PROTOBUF', 'JSON'] as const
/** The language of a schema. */
export type SchemaType = (typeof schemaTypes)[number]

/** A schema as a registry keeps it. It never changes under its id. */
export interface RegisteredSchema {
  readonly type: SchemaType
  readonly text: string
  /** The schemas it names, in the order of their declaration, each after those it names itself. */
  readonly references: readonly ReferencedSchema[]
}

/** A schema that another one refers to. */
export interface ReferencedSchema {
  /** The name under which the schema refers to it: an Avro name, a file to import, a URI. */
  readonly name: string
  readonly text: string
}

/** True for two answers with the same meaning, also if one was formatted. */
export function isSameSchema(one: RegisteredSchema, other: RegisteredSchema): boolean {
  return JSON.stringify(contentOf(one)) === JSON.stringify(contentOf(other))
}

function contentOf({ type, text, references }: RegisteredSchema): unknown {
  return [type, plain(text), references.map(reference => [reference.name, plain(reference.text)])]
}

function plain(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text.trim()
  }
}
