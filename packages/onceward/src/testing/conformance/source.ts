import type { DeliveryProperties, Source } from '../../contracts/source.ts'
import { runConformance } from './conformance-case.ts'
import { SourceBench } from './source-bench.ts'
import { sourceConnectionCases } from './source-connection-cases.ts'
import { sourceDeliveryCases } from './source-delivery-cases.ts'
import { sourceSettleCases } from './source-settle-cases.ts'

export interface PublishedMessage {
  readonly body: Buffer
  readonly headers?: Readonly<Record<string, unknown>>
  readonly properties?: DeliveryProperties
  readonly key?: string | null
}

/** One fresh queue on a broker, seen from outside the source. */
export interface SourceUnderTest {
  readonly source: Source
  /** The same queue as another process would open it; may be the same object where that makes no difference. */
  another(): Source
  /** Resolves once the broker has taken the messages for good. */
  publish(messages: readonly PublishedMessage[]): Promise<void>
  /** Messages not settled. Asked when no subscription is open; may take a moment to become exact, so it is polled. */
  remaining(): Promise<number>
  /** Cuts every connection of this queue's subscriptions, as a network would. */
  disconnect?(): Promise<void>
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

export interface SourceFactory {
  /** An empty queue nobody else uses; with `keyOrder`, declared so that the order of a key is kept. */
  create(options: { readonly keyOrder: boolean }): Promise<SourceUnderTest>
  readonly without?: Partial<Record<SourceFeature, string>>
  /** Why nothing of it can run here, such as a missing server. */
  readonly unavailable?: string | undefined
}

/** Runs every case a source must pass, with node:test. */
export function sourceConformance(name: string, factory: SourceFactory): void {
  runConformance({
    name: `${name} satisfies the source contract`,
    unavailable: factory.unavailable,
    cases: [...sourceDeliveryCases, ...sourceSettleCases, ...sourceConnectionCases],
    open: async needs => new SourceBench(await factory.create({ keyOrder: needs.includes('key order') })),
    close: bench => bench.close(),
    missing: (feature, bench) => missingSourceFeature(feature, factory, bench.queue),
  })
}

export function missingSourceFeature(
  feature: SourceFeature,
  factory: SourceFactory,
  { source, disconnect }: SourceUnderTest,
): string | null {
  const reason = factory.without?.[feature]
  if (reason !== undefined) return reason
  if (feature === 'key order' && !source.capabilities.order.key) return `${source.name} keeps no key order`
  if (feature === 'delivery count' && !source.capabilities.deliveryCount)
    return `${source.name} counts no deliveries`
  if (feature === 'lost connection' && disconnect === undefined) return 'the factory cannot cut a connection'
  return null
}
