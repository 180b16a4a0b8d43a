import type { HeldState } from '../../ports/held-record.ts'
import type { MarkerStatus } from '../../ports/markers.ts'
import type { Position } from '../../ports/source.ts'
import type { Store } from '../../ports/store.ts'
import { runConformance } from './conformance-case.ts'
import { StoreBench } from './store-bench.ts'
import { storeCheckpointCases } from './store-checkpoint-cases.ts'
import { storeConcludeCases } from './store-conclude-cases.ts'
import { storeIntentCases } from './store-intent-cases.ts'
import { storeMarkerCases } from './store-marker-cases.ts'
import { storeOutboxCases } from './store-outbox-cases.ts'
import { storeSuspectCases } from './store-suspect-cases.ts'
import { storeTransactionCases } from './store-transaction-cases.ts'

/** A store with a portable effect, and readers that see only committed rows. */
export interface StoreUnderTest<Tx> {
  readonly store: Store<Tx>
  /**
   * A second instance on the same database, as in another process; the same object when the store is not
   * shared.
   */
  readonly second: Store<Tx>
  /** A business write whose repetition is visible: appends `key` to a list. */
  apply(tx: Tx, key: string): Promise<void>
  /** The list so far, in order of application. */
  applied(): Promise<readonly string[]>
  marker(consumer: string, id: string): Promise<MarkerStatus | null>
  /** The id that holds a business key; null when it is free. */
  businessKey?(consumer: string, key: string): Promise<string | null>
  held(consumer: string): Promise<readonly HeldRow[]>
  attempts(consumer: string, id: string): Promise<number>
  intents?(consumer: string): Promise<readonly IntentRow[]>
  /** Message ids that wait to be published to a queue or topic, in order. */
  outbox?(queue: string): Promise<readonly string[]>
  /** Logs: the position from which this consumer reads a partition. */
  position?(consumer: string, partition: string, generation?: number): Promise<Position | null>
  losses?(consumer: string): Promise<readonly LossRow[]>
  /** As an operator who accepts a declared loss; left out where operators cannot. */
  acceptLoss?(consumer: string, partition: string): Promise<void>
  /** Sends a statement that fails because of its content. */
  fail?(tx: Tx): Promise<void>
  /** How many transactions wait for a lock at present. */
  waiting?(): Promise<number>
  close(): Promise<void>
}

/** A stored message, as tests read it. */
export interface HeldRow {
  readonly id: string | null
  readonly state: HeldState
  readonly seen: number
  readonly attempts: number
  readonly code: string
  readonly reason: string
  readonly body: Buffer
}

/** A requested effect, as tests read it. */
export interface IntentRow {
  readonly target: string
  readonly key: string
  readonly body: Buffer
}

/** A declared loss, as tests read it. */
export interface LossRow {
  readonly partition: string
  readonly from: Position
  readonly to: Position | null
  readonly records: number | null
}

/** What a store may lack; each lack needs a reason in `without`. */
export type StoreFeature =
  | 'failing statements'
  | 'lock waits'
  | 'concurrent transactions'
  | 'accepted losses'
  | 'held work'
  /** Groups of the port that a store may leave out; the suite detects whether they are there. */
  | 'business keys'
  | 'key order'
  | 'outgoing'
  | 'checkpoints'
  | 'suspects'

/** What the store suite needs of a driver. */
export interface StoreFactory<Tx> {
  create(): Promise<StoreUnderTest<Tx>>
  readonly without?: Partial<Record<StoreFeature, string>>
  /** Why none of it can run here, such as a missing server. */
  readonly unavailable?: string | undefined
}

/** Runs every case a store must pass, with node:test. */
export function storeConformance<Tx>(name: string, factory: StoreFactory<Tx>): void {
  runConformance<StoreBench<unknown>, StoreFeature>({
    name: `${name} satisfies the store port`,
    unavailable: factory.unavailable,
    cases: [
      ...storeMarkerCases,
      ...storeConcludeCases,
      ...storeIntentCases,
      ...storeOutboxCases,
      ...storeTransactionCases,
      ...storeCheckpointCases,
      ...storeSuspectCases,
    ],
    open: async () => StoreBench.open((await factory.create()) as StoreUnderTest<unknown>),
    close: bench => bench.under.close(),
    missing: (feature, bench) => missingStoreFeature(feature, factory, bench.under),
  })
}

export function missingStoreFeature(
  feature: StoreFeature,
  factory: Pick<StoreFactory<never>, 'without'>,
  under: StoreUnderTest<unknown>,
): string | null {
  const reason = factory.without?.[feature]
  if (reason !== undefined) return reason
  if (feature === 'failing statements' && under.fail === undefined)
    return 'the factory has no failing statement'
  if (feature === 'lock waits' && under.waiting === undefined)
    return 'the factory cannot see waiting transactions'
  if (feature === 'accepted losses' && under.acceptLoss === undefined)
    return 'the factory cannot accept a loss'
  return missingStoreGroup(feature, under.store)
}

function missingStoreGroup(
  feature: StoreFeature,
  { capabilities, work, checkpoints, suspects }: Store<unknown>,
): string | null {
  const lacks: Partial<Record<StoreFeature, string | false>> = {
    'held work': work === undefined && 'keeps no work for later',
    'business keys': !capabilities.businessKeys && 'keeps no business keys',
    'key order': !capabilities.keyOrder && 'reports no blocked keys',
    outgoing: !capabilities.outgoing && 'has no outbox and no ledger',
    checkpoints: checkpoints === undefined && 'keeps no positions',
    suspects: suspects === undefined && 'records no crash suspects',
  }
  const lack = lacks[feature]
  return lack ? `the store ${lack}` : null
}
