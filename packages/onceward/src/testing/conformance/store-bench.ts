import { hash } from 'node:crypto'
import type { Conclusion } from '../../ports/conclusion.ts'
import type { ConsumerFacts, Enrolment } from '../../ports/enrolment.ts'
import type { HeldRecord } from '../../ports/held-record.ts'
import type { NewMarker } from '../../ports/markers.ts'
import type { Intent, Outgoing } from '../../ports/outgoing.ts'
import type { Store } from '../../ports/store.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { StoreUnderTest } from './store.ts'

let consumers = 0

/** A store with a consumer enrolled. */
export class StoreBench<Tx> {
  readonly under: StoreUnderTest<Tx>
  readonly enrolment: Enrolment

  private constructor(under: StoreUnderTest<Tx>, enrolment: Enrolment) {
    this.under = under
    this.enrolment = enrolment
  }

  static async open<Tx>(under: StoreUnderTest<Tx>): Promise<StoreBench<Tx>> {
    consumers++
    return new StoreBench(under, await under.store.enroll(factsOf(`conformance_${process.pid}_${consumers}`)))
  }

  get name(): string {
    return this.enrolment.facts.name
  }

  transaction<T>(
    work: (session: StoreSession<Tx>) => Promise<T>,
    store: Store<Tx> = this.under.store,
  ): Promise<T> {
    return store.transaction(this.enrolment, work)
  }

  marker(id: string) {
    return this.under.marker(this.name, id)
  }

  held() {
    return this.under.held(this.name)
  }

  /** The business effect through a handler transaction, as a handler does it. */
  async apply(session: StoreSession<Tx>, key: string): Promise<void> {
    const handlerTx = session.handlerTransaction()
    await this.under.apply(handlerTx.tx, key)
    handlerTx.revoke()
  }

  /** How often this key was applied, committed writes only. */
  async count(key: string): Promise<number> {
    return (await this.under.applied()).filter(one => one === key).length
  }
}

export function factsOf(name: string, changes: Partial<ConsumerFacts> = {}): ConsumerFacts {
  return {
    name,
    generation: 1,
    owner: 'conformance',
    risk: 'low value',
    mode: 'live',
    handlerVersion: '1',
    instance: 'conformance',
    handlerTimeoutMs: 30_000,
    deliveriesMax: 100,
    dedup: 'marker',
    deadLetterTo: null,
    ...changes,
  }
}

export const digest = (content: string): Buffer =>
  Buffer.concat([Buffer.of(1), hash('sha256', content, 'buffer')])

export const claimOf = (id: string, content = id): NewMarker => ({
  id,
  digest: digest(content),
  position: null,
})

export function intentOf(key: string, content = key, messageId = `m-${key}`): Intent {
  const body = Buffer.from(content)
  return {
    messageId,
    businessKey: null,
    effectType: 'http',
    target: 'gateway',
    key,
    body,
    contentType: 'text/plain',
    digest: digest(content),
  }
}

export function outgoingOf(messageId: string, key: string | null = 'k'): Outgoing {
  const body = Buffer.from([0, 255])
  return { ...nowhere, messageId, key, headers: '{"n":1}', properties: '{}', body }
}
const nowhere = { broker: 'kafka', exchange: null, queue: 'conformance' }

export function conclusionOf(
  id: string | null,
  to: Conclusion['to'],
  changes: Partial<Conclusion> = {},
): Conclusion {
  const held = to === 'parked' || to === 'dead' || to === 'quarantined' ? heldOf(to) : null
  return { id, digest: digest(id ?? 'bytes'), to, claimed: true, businessKey: null, held, ...changes }
}

export function heldOf(state: HeldRecord['state'], changes: Partial<HeldRecord> = {}): HeldRecord {
  return {
    state,
    was: null,
    reason: 'because',
    failureClass: 'poison',
    code: 'because',
    error: null,
    place: '',
    orderKey: null,
    version: null,
    dueInMs: null,
    attempts: 2,
    copied: state === 'dead' || state === 'quarantined',
    body: Buffer.from([0, 1, 0xff]),
    headers: '{"nul":"\\u0000","lone":"\\ud800"}',
    properties: '{}',
    origin: 'conformance',
    position: null,
    brokerKey: null,
    deliveryCount: 0,
    businessKey: null,
    businessDigest: null,
    keyless: false,
    correlationId: null,
    messageType: null,
    schemaVersion: null,
    producer: null,
    aggregateId: null,
    aggregateVersion: null,
    ...changes,
  }
}

/** Settled from outside: holds a transaction open for as long as a case needs it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}
