import type { Mode } from '../contract/handler.ts'

/** One delivery of a message by a broker. The bytes are exactly those the broker stored. */
export interface Delivery {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  /** Name of the queue, stream or topic it came from; for evidence, never an identity. */
  readonly origin: string
  /** Lasting coordinates on logs (`topic/3@1207`); null on queues, whose tags end with the channel. */
  readonly position: string | null
  /** The broker's ordering unit (`case-events/3` on Kafka); '' where there is only one. */
  readonly partition: string
  /** Its place in a partition of a log, and the ownership it was delivered under; null on queues. */
  readonly place: Place | null
  /** The broker's own key: routing key or record key. */
  readonly key: string | null
  readonly redelivered: boolean
  /** Earlier deliveries the broker knows of; 0 on the first one, and where the broker does not count. */
  readonly deliveryCount: number
  /** The source's private handle (tag, lease, offset with its epoch). No other component reads it. */
  readonly token: unknown
  /** Present when a worker delivers held work; absent when a broker delivers the message. */
  readonly held?: HeldFacts
  /** The identity that an archived message had; absent elsewhere. */
  readonly archived?: KnownIdentity | undefined
  /**
   * Logs: when a record without a timestamp was first seen. The process sets it when it measures ages; null
   * until then. Absent on queues.
   */
  firstSeenMs?: number | null
}

/** An identity that a marker has or had. */
export interface KnownIdentity {
  readonly messageId: string
  readonly digest: Buffer
}

/** What the store knows of held work before its bytes are read again. */
export interface HeldFacts {
  /**
   * Its row, and the epoch of the lease. Each lease raises the epoch, so an earlier holder's finish matches
   * nothing.
   */
  readonly row: string
  readonly epoch: number
  /**
   * As its marker has them, whether or not the contract reads the same from the bytes today. Null when no id
   * could be read at the time: then the worker that applies it reads both and inserts the marker.
   */
  readonly messageId: string | null
  readonly digest: Buffer
  /** It waited for its version, which arrived or did not; null when it did not wait for one. */
  readonly waited: 'released' | 'too late' | null
  /**
   * Another message holds its business key: the worker asks for the key first. Absent when it holds the key
   * or has none.
   */
  readonly keyless?: boolean
  /** Its last holder let the lease expire, as a process does that crashed while handling it. */
  readonly abandoned: boolean
  /** When it was first held, as text of the store; absent when this process has just stored it. */
  readonly firstAt?: string
  /** Failed attempts recorded on its row; absent when there can be none. */
  readonly attempts?: number
  /** The run that held it first; absent when this run did. */
  readonly cameFrom?: HeldOrigin
  /**
   * The parts this process read from the bytes when it stored them; absent when they came out of the store.
   */
  readonly read?: ReadBefore
}

/** The run that held a message first. A worker applies the message in the mode of that run. */
export interface HeldOrigin {
  readonly mode: Mode
  /** Null when no campaign held it. */
  readonly campaignId: string | null
  /** Whether that campaign may request external effects and messages; null when no campaign held it. */
  readonly effects: 'suppressed' | 'requested' | null
}

export interface ReadBefore {
  readonly message: unknown
  readonly lane: string | null
  readonly businessKey: string | null
  readonly orderKey: string | null
  readonly businessDigest: Buffer | null
}

/**
 * A record's place in one partition of a log. Cursors are texts that only their source interprets: an offset,
 * a byte in a file, a page token. No other component compares them; the order of records is the order of
 * delivery.
 */
export interface Place {
  /**
   * The incarnation of the log: a topic id, a file's inode. A log that was deleted and created again has
   * another one.
   */
  readonly incarnation: string
  /** The epoch of the ownership it was delivered under, as the store counts it. */
  readonly epoch: number
  /** The cursor of this record. */
  readonly at: string
  /** The position from which to read once this record and all before it are done. */
  readonly next: string
  /**
   * Campaigns: the end of the previous record, when the records in between were not selected. Absent when
   * that is `at`.
   */
  readonly since?: string
}

/** Facts a broker carries beside the headers, under one set of names. */
export interface DeliveryProperties {
  readonly messageId?: string
  readonly correlationId?: string
  readonly type?: string
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly appId?: string
  readonly timestampMs?: number
  /**
   * Logs: the record has no value at all (a deletion in a compacted topic), which differs from an empty
   * value. Absent unless true.
   */
  readonly tombstone?: true
}
