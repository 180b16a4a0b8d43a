import { defineConsumer } from 'onceward'
import { stream } from 'onceward/rabbitmq-stream'
import { ParcelScanned } from './messages.ts'
import { readSettings, type Settings } from './settings.ts'

export function parcelTracking(settings: Settings) {
  return defineConsumer({
    name: 'parcel_tracking',
    generation: settings.generation,
    owner: 'logistics',
    risk: 'projection',
    source: stream(settings.stream, { start: 'first' }),
    message: ParcelScanned,
    identity: { id: m => m.scanId, aggregateId: m => m.parcelId },
    order: 'partition',
    // The position is written in the transaction of the effects. A restore of the database returns both to
    // the same moment.
    settle: { when: 'with effect' },
    // Records older than this are not read again; the stream itself has no limit.
    retention: { sourceKeeps: '30d' },
    effect: {
      external: {
        notifier: { url: settings.notifierUrl, allowPrivate: true, timeoutMs: 2_000, retryDelayMs: 100 },
      },
    },

    async handle({ message, tx, effects, mode }) {
      const { parcelId, status, place, at } = message
      const table = mode === 'rebuild' ? 'parcel_rebuilt' : 'parcel'
      await tx.query(
        `insert into ${table} as known (parcel_id, status, place, scans, last_at) values ($1, $2, $3, 1, $4)
         on conflict (parcel_id) do update
         set status = excluded.status, place = excluded.place, scans = known.scans + 1, last_at = excluded.last_at`,
        [parcelId, status, place, at],
      )
      // Recorded in this transaction, called later by the dispatcher; suppressed in replay and rebuild.
      if (status === 'delivered')
        effects.external('notifier', { key: parcelId, body: { parcelId, place, at } })
    },
  })
}

export default parcelTracking(readSettings())
