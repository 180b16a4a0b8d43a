import type { DeliveryProperties, LogOptions, Source } from '../../ports/source.ts'
import { runConformance } from './conformance-case.ts'
import { SourceBench } from './source-bench.ts'
import { sourceConnectionCases } from './source-connection-cases.ts'
import { sourceDeliveryCases } from './source-delivery-cases.ts'
import { sourceHostileCases } from './source-hostile-cases.ts'
import { sourceLossCases } from './source-loss-cases.ts'
import { sourceOwnershipCases } from './source-ownership-cases.ts'
import { sourcePositionCases } from './source-position-cases.ts'
import { sourceSettleCases } from './source-settle-cases.ts'

/** A message that a publisher sent, as the broker has it. */
export interface PublishedMessage {
  readonly body: Buffer
  readonly headers?: Readonly<Record<string, unknown>>
  readonly properties?: DeliveryProperties
  readonly key?: string | null
  /** Logs: index in `partitions`. Default: as the log chooses. */
  readonly partition?: number
}

/** One fresh queue or log on a broker, seen from outside the source. */
export interface SourceUnderTest {
  readonly source: Source
  /**
   * The same queue as another process would open it; may be the same object where that makes no difference.
   */
  another(): Source
  /** Resolves once the broker has stored the messages. */
  publish(messages: readonly PublishedMessage[]): Promise<void>
  /**
   * Messages not settled. Asked when no subscription is open, and polled, because it may take a moment to
   * become exact. Logs leave it out: there `countFrom` of the positions says it.
   */
  remaining?(): Promise<number>
  /** Cuts every connection of this queue's subscriptions, as a network would. */
  disconnect?(): Promise<void>
  /** Logs: their names, as deliveries carry them. */
  readonly partitions?: readonly string[]
  /** Logs: how many records are at or after this cursor. */
  countFrom?(partition: string, cursor: string | null): Promise<number>
  /**
   * Logs: the cursor this consumer has committed to the broker; null before the first. Left out by logs that
   * keep none.
   */
  committed?(partition: string, consumer: LogOptions['consumer']): Promise<string | null>
  /** Logs: the first records of the partition are gone, as retention does; `keep` stay. */
  loseRecords?(partition: string, keep: number): Promise<void>
  /**
   * Logs: from now on the records of the partition seem to be gone, as while a broker recovers for too long.
   * Call the result to show them again, unchanged.
   */
  hideRecords?(partition: string): Promise<() => Promise<void>>
  /** Logs: the log is deleted and created again, empty. */
  recreate?(): Promise<void>
  /** Logs: the broker forgets the committed positions. */
  forgetPositions?(): Promise<void>
  close(): Promise<void>
}

/** What a source may lack; each lack needs a reason in `without`. */
export type SourceFeature =
  | 'lost connection'
  | 'byte bound'
  | 'message key'
  | 'key order'
  | 'key order across subscriptions'
  | 'delivery count'
  /** Bodies of any bytes, and headers and properties beside them. */
  | 'any bytes'
  | 'headers'
  /** Headers of any name with texts as values, and tables as values. */
  | 'header names'
  | 'nested headers'
  /** A queue deletes single messages; a log only advances a position. */
  | 'single settling'
  /** Features of logs. */
  | 'positions'
  | 'several partitions'
  | 'shared partitions'
  | 'position on the broker'
  | 'expiring records'
  | 'hidden records'
  | 'recreation'
  | 'forgotten positions'

/** What the source suite needs of a driver. */
export interface SourceFactory {
  /** An empty queue of its own; with `keyOrder`, declared so that the order of a key is kept. */
  create(options: { readonly keyOrder: boolean }): Promise<SourceUnderTest>
  readonly without?: Partial<Record<SourceFeature, string>>
  /** Why none of it can run here, such as a missing server. */
  readonly unavailable?: string | undefined
}

/** Runs every case a source must pass, with node:test. */
export function sourceConformance(name: string, factory: SourceFactory): void {
  runConformance({
    name: `${name} satisfies the source port`,
    unavailable: factory.unavailable,
    cases: [
      ...sourceDeliveryCases,
      ...sourceHostileCases,
      ...sourceSettleCases,
      ...sourceConnectionCases,
      ...sourcePositionCases,
      ...sourceOwnershipCases,
      ...sourceLossCases,
    ],
    open: async needs => new SourceBench(await factory.create({ keyOrder: needs.includes('key order') })),
    close: bench => bench.close(),
    missing: (feature, bench) => missingSourceFeature(feature, factory, bench.queue),
  })
}

export function missingSourceFeature(
  feature: SourceFeature,
  factory: SourceFactory,
  under: SourceUnderTest,
): string | null {
  const { name, capabilities } = under.source
  const { positions } = capabilities
  if (feature === 'single settling') return positions ? `${name} is a log: it settles runs of records` : null
  if (isOfLogs(feature) && !positions) return `${name} is a queue`
  const reason = factory.without?.[feature]
  if (reason !== undefined) return reason
  if (feature === 'key order' && !capabilities.order.key) return `${name} keeps no key order`
  if (feature === 'delivery count' && !capabilities.deliveryCount) return `${name} counts no deliveries`
  const lacks = {
    'lost connection': under.disconnect === undefined && 'cut a connection',
    'several partitions': (under.partitions?.length ?? 0) < 2 && 'make several partitions',
    'position on the broker': under.committed === undefined && 'see the position on the broker',
    'expiring records': under.loseRecords === undefined && 'make records expire',
    'hidden records': under.hideRecords === undefined && 'hide records for a while',
    recreation: under.recreate === undefined && 'make the log anew',
    'forgotten positions': under.forgetPositions === undefined && 'make the broker forget',
  } as Partial<Record<SourceFeature, string | false>>
  const lack = lacks[feature]
  return lack ? `the factory cannot ${lack}` : null
}

const isOfLogs = (feature: SourceFeature): boolean =>
  [
    'positions',
    'several partitions',
    'shared partitions',
    'position on the broker',
    'expiring records',
    'hidden records',
    'recreation',
    'forgotten positions',
  ].includes(feature)
