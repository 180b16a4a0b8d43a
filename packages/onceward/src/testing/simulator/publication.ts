import type { DeliveryProperties } from '../../ports/source.ts'

/** Bytes that a producer published, with what the checks know of them. */
export interface Publication {
  /** In order of publishing, over all. */
  readonly number: number
  readonly body: Buffer
  readonly properties: DeliveryProperties
  /** Null when the bytes cannot be read. */
  readonly id: string | null
  /** Of the raw bytes, in hex. */
  readonly digest: string
  readonly key: string
  /** On a log, once it is there. */
  position: string | null
}

export function publicationName({ id, number }: Publication): string {
  return `${id ?? 'unreadable'}#${number}`
}

/** Observes the messages that the broker deletes. */
export interface AckWatcher {
  acked(publication: Publication): void
}
