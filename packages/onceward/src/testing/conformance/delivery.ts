import { runConformance } from './conformance-case.ts'
import { DeliveryBench } from './delivery-bench.ts'
import { deliveryDeferCases } from './delivery-defer-cases.ts'
import { deliveryDuplicateCases } from './delivery-duplicate-cases.ts'
import { deliveryFailureCases } from './delivery-failure-cases.ts'
import { deliveryHostileCases } from './delivery-hostile-cases.ts'
import { deliveryKeyWaitCases } from './delivery-key-wait-cases.ts'
import { deliveryLifecycleCases } from './delivery-lifecycle-cases.ts'
import { deliveryLogCases } from './delivery-log-cases.ts'
import { deliveryOrderCases } from './delivery-order-cases.ts'
import { deliverySuspectCases } from './delivery-suspect-cases.ts'
import { deliveryUnreadableCases } from './delivery-unreadable-cases.ts'
import { missingSourceFeature, type SourceFactory, type SourceFeature } from './source.ts'
import { missingStoreFeature, type StoreFactory, type StoreFeature, type StoreUnderTest } from './store.ts'

/** A feature that a source may lack; its cases are then skipped. */
export type DeliveryFeature = SourceFeature | StoreFeature

/** What the delivery suite needs of a driver. */
export interface DeliveryFactory<Tx> {
  readonly source: SourceFactory
  readonly store: StoreFactory<Tx>
}

/** The promise itself, through the real engine, for one pair of source and store. */
export function deliveryConformance<Tx>(name: string, { source, store }: DeliveryFactory<Tx>): void {
  runConformance<DeliveryBench<unknown>, DeliveryFeature>({
    name: `${name} keeps the promise`,
    unavailable: source.unavailable ?? store.unavailable,
    cases: [
      ...deliveryDuplicateCases,
      ...deliveryFailureCases,
      ...deliveryDeferCases,
      ...deliveryKeyWaitCases,
      ...deliveryOrderCases,
      ...deliveryUnreadableCases,
      ...deliveryHostileCases,
      ...deliveryLifecycleCases,
      ...deliveryLogCases,
      ...deliverySuspectCases,
    ],
    open: async needs => {
      const queue = await source.create({ keyOrder: needs.includes('key order') })
      return new DeliveryBench(queue, (await store.create()) as StoreUnderTest<unknown>)
    },
    close: bench => bench.close(),
    missing: (feature, bench) =>
      isStoreFeature(feature)
        ? missingStoreFeature(feature, store, bench.under)
        : missingSourceFeature(feature, source, bench.queue),
  })
}

const storeFeatures: readonly DeliveryFeature[] = [
  'failing statements',
  'lock waits',
  'concurrent transactions',
  'accepted losses',
  'held work',
  'business keys',
  'outgoing',
]

const isStoreFeature = (feature: DeliveryFeature): feature is StoreFeature => storeFeatures.includes(feature)
