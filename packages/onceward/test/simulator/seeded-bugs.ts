import type { Delivery, Source, Subscription } from '../../src/ports/source.ts'
import type { StoreSession } from '../../src/ports/store-session.ts'
import type { SimulatedTx } from '../../src/testing/simulator/handler-transaction.ts'
import type { Around } from '../../src/testing/simulator/schedule.ts'
import type { SimulatedSession } from '../../src/testing/simulator/session.ts'
import type { SimulatedStore } from '../../src/testing/simulator/store.ts'

/** The source is told before anything is durable. */
export const ackFirst: Around = {
  source: withSubscription(subscription => ({
    async receive(max) {
      const deliveries = await subscription.receive(max)
      void subscription.settle(deliveries)
      return deliveries
    },
    settle: () => Promise.resolve({ missed: 0 }),
    isLive: () => true,
  })),
}

/** Markers are committed by themselves; effects follow in a transaction of their own. */
export const splitTransaction: Around = {
  store: withSession((session, store) => ({
    insertMarkers: claims => store.transaction(session.enrolment, alone => alone.insertMarkers(claims)),
  })),
}

/** A settled record counts as the end of all before it. */
export const commitPastUnfinished: Around = {
  source: withSubscription(subscription => {
    const handed: Delivery[] = []
    return {
      async receive(max) {
        const deliveries = await subscription.receive(max)
        handed.push(...deliveries)
        return deliveries
      },
      settle(deliveries) {
        const last = new Map<string, number>()
        for (const delivery of deliveries) last.set(delivery.partition, handed.indexOf(delivery))
        const passed = handed.filter(({ partition }, index) => index <= (last.get(partition) ?? -1))
        return subscription.settle(passed)
      },
    }
  }),
}

/** The position moves whoever owns the partition now. */
export const noFence: Around = {
  store: withSession(({ inner }) => ({
    log: {
      ...inner.log,
      advance: progress => inner.transaction.send('advance, unfenced', () => inner.move(progress)),
    },
  })),
}

/**
 * A copy in the same batch is not recognised: both count as the first. Every delivery gets an id of its own,
 * which the store forgets.
 */
export const duplicateInBatch: Around = {
  contract(contract) {
    let deliveries = 0
    return { ...contract, identity: { ...contract.identity, id: job => `${job.id}~${deliveries++}` } }
  },
  store: withSession(({ inner }) => ({
    async insertMarkers(claims) {
      const firsts = new Map(claims.map(claim => [real(claim.id), claim]))
      const names = [...firsts.keys()]
      const answers = await inner.insertMarkers(
        [...firsts.values()].map(claim => ({ ...claim, id: real(claim.id) })),
      )
      return claims.map(claim => answers[names.indexOf(real(claim.id))]!)
    },
    countAttempts: failures => inner.countAttempts(failures.map(one => ({ ...one, id: real(one.id) }))),
    outgoing: {
      ...inner.outgoing,
      request: intents =>
        inner.outgoing.request(intents.map(one => ({ ...one, messageId: real(one.messageId) }))),
    },
    conclude: conclusions =>
      inner.conclude(conclusions.map(one => ({ ...one, id: one.id === null ? null : real(one.id) }))),
  })),
}

function real(id: string): string {
  return id.split('~')[0]!
}

function withSubscription(change: (subscription: Subscription) => Partial<Subscription>) {
  return (source: Source): Source => ({
    ...source,
    async open(options) {
      const subscription = await source.open(options)
      return changed(subscription, change(subscription))
    },
  })
}

type Enrolled = Parameters<SimulatedStore['transaction']>[0]

function withSession(
  change: (
    session: { readonly inner: SimulatedSession; readonly enrolment: Enrolled },
    store: SimulatedStore,
  ) => Partial<StoreSession<SimulatedTx>>,
) {
  return (store: SimulatedStore) =>
    changed(store, {
      transaction: (enrolment, work) =>
        store.transaction(enrolment, session => {
          const inner = session as SimulatedSession
          return work(changed<StoreSession<SimulatedTx>>(inner, change({ inner, enrolment }, store)))
        }),
    })
}

/** The object with some of its methods replaced. */
function changed<T extends object>(whole: T, changes: Partial<T>): T {
  return new Proxy(whole, {
    get(target, name) {
      const value = (changes as Record<PropertyKey, unknown>)[name] ?? Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
