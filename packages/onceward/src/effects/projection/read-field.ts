import type { BatchItem } from '../../contract/handler.ts'
import { textOfHeader } from '../../message/identity.ts'
import type { ProjectionOptions, ReadFrom } from './declaration.ts'

/** `item` is null for a fact from a repair. */
export type FieldReader<M> = (message: M, item: BatchItem<M> | null) => unknown

export function readerOf<M>(from: ReadFrom<M>): FieldReader<M> {
  if (typeof from === 'function') return from
  if (typeof from === 'string') return message => (message as Record<string, unknown> | null)?.[from]
  if ('header' in from) return (_message, item) => textOfHeader(item?.envelope.headers[from.header])
  if (from.record === 'key') return (_message, item) => item?.envelope.key
  return (_message, item) => /@(\d+)$/.exec(item?.envelope.position ?? '')?.[1]
}

export function deletionOf<M>(
  deletion: ProjectionOptions<M>['delete'],
): (...of: Parameters<FieldReader<M>>) => boolean {
  if (deletion === undefined) return () => false
  const { when } = deletion
  return when === 'tombstone' ? (_message, item) => isTombstone(item) : message => when(message) === true
}

/** Checks the property as well, because a message with a body may also be null. */
export function isTombstone<M>(item: BatchItem<M> | null): boolean {
  return item !== null && item.message === null && item.envelope.properties.tombstone === true
}
