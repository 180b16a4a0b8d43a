import type { From } from '../../contract/contract.ts'
import type { Consumer } from '../../contract/define-consumer.ts'
import { readerFor } from '../../message/identity.ts'
import type { Received } from '../../message/received.ts'

/** The label value of a message whose type the contract does not list. */
export const unlistedType = 'other'

/**
 * Reads a type that the contract lists, or `other`; null if the contract lists none. Other values of a
 * message must not become metric labels.
 */
export function eventTypeReader<M, Tx>(
  consumer: Pick<Consumer<M, Tx>, 'message' | 'identity'>,
): ((received: Received<M>) => string) | null {
  const { types } = consumer.message
  if (types === undefined) return null
  const known = new Set<unknown>(types)
  const read = readerFor((consumer.identity.type ?? { property: 'type' }) as From<M, unknown>)
  return received => {
    if (!received.readable) return unlistedType
    try {
      const type = read(received.message, received.delivery)
      return known.has(type) ? (type as string) : unlistedType
    } catch {
      return unlistedType
    }
  }
}
