import { isRecord } from '../../contract/check-values.ts'
import { loadPeer } from '../load-peer.ts'
import type { RegisteredSchema } from '../registered-schema.ts'

/** Returns the first problem, null if there is none. */
export type JsonValidator = (value: unknown) => string | null

interface AjvInstance {
  addSchema(schema: object, key: string): unknown
  compile(schema: object): {
    (value: unknown): unknown
    errors?: readonly { readonly instancePath: string; readonly message?: string }[] | null
  }
}

type AjvClass = new (options: object) => AjvInstance

/**
 * Compiles a schema of draft 7, 2019-09 or 2020-12. Unknown keywords and formats are ignored, as the
 * registries' own serializers do.
 */
export async function jsonValidator({ text, references }: RegisteredSchema): Promise<JsonValidator> {
  const schema = JSON.parse(text)
  if (!isRecord(schema) && typeof schema !== 'boolean') throw new TypeError('not a JSON Schema')
  if (typeof schema === 'boolean') return () => (schema ? null : 'nothing is valid')
  const Ajv = await loadAjv(String(schema.$schema ?? ''))
  const ajv = new Ajv({ strict: false, validateFormats: false, logger: false })
  for (const { name, text } of references) ajv.addSchema(JSON.parse(text), name)
  const validate = ended(() => ajv.compile(schema))
  return value => {
    if (ended(() => validate(value)) === true) return null
    const [first] = validate.errors ?? []
    return `${first?.instancePath || 'the body'} ${first?.message ?? 'is not valid'}`
  }
}

/** ajv follows references until the stack is exhausted, and so do the functions that it compiles. */
function ended<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new TypeError('the JSON Schema refers to itself without end', { cause: error })
  }
}

function loadAjv(draft: string): Promise<AjvClass> {
  return loadPeer('ajv', async () => {
    const loaded = draft.includes('2020-12')
      ? await import('ajv/dist/2020.js')
      : draft.includes('2019-09')
        ? await import('ajv/dist/2019.js')
        : await import('ajv')
    return defaultOf(loaded) as AjvClass
  })
}

/** The package is CommonJS: its class is a default of a default, or the first. */
function defaultOf(loaded: object): unknown {
  let found: unknown = loaded
  while (typeof found === 'object' && found !== null && 'default' in found) found = found.default
  return found
}
