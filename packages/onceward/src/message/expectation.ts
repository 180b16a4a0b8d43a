import type { Consumer } from '../contract/define-consumer.ts'
import type { Delivery } from '../ports/source.ts'
import { fact, type Identities } from './read-identities.ts'
import type { Problem } from './received.ts'

/** Checks types and versions against the contract; null if it lists none. */
export function compileExpectation<M, Tx>(
  { message: { types, versions } }: Consumer<M, Tx>,
  { type, schemaVersion }: Identities<M>,
): ((message: M, delivery: Delivery) => Problem | null) | null {
  if (types === undefined && versions === undefined) return null
  const known = types && new Set(types)
  const readable = versions && versionTest(versions)
  return (message, delivery) => {
    const itsType = fact(type, message, delivery)
    if (known !== undefined && !known.has(itsType ?? ''))
      return { kind: 'unknown type', text: `type ${itsType ?? 'missing'}: this consumer handles ${types}` }
    if (readable === undefined) return null
    const version = fact(schemaVersion, message, delivery)
    if (version !== null && readable(version)) return null
    return {
      kind: 'unsupported version',
      text: `schema version ${version ?? 'missing'} is not supported here`,
    }
  }
}

function versionTest(versions: NonNullable<Consumer['message']['versions']>): (version: string) => boolean {
  if ('min' in versions)
    return version =>
      /^\d{1,10}$/.test(version) && Number(version) >= versions.min && Number(version) <= versions.max
  const listed = new Set(versions.map(String))
  return version => listed.has(version)
}
