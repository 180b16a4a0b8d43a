import { type BatchItem, defineConsumer, reject, type SqlTransaction, type Verdict } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import type { Scene } from './sound.ts'

interface Scan {
  readonly id: string
  readonly parcel: string
  readonly version: number
  readonly place: string
}

export default defineConsumer<Scan, SqlTransaction, never, 'moved'>({
  name: 'scans',
  owner: 'sound',
  risk: 'low value',
  source: postgresQueue('sound'),
  identity: { id: m => m.id },
  effect: { publish: { moved: { broker: 'kafka', topic: 'parcels' } } },
  async handleBatch({ batch, tx }) {
    const verdicts = new Map<BatchItem<Scan>, Verdict>()
    const good = batch.filter(item => item.message.place !== '')
    for (const item of batch) if (!good.includes(item)) verdicts.set(item, reject('no place', 'no_place'))
    const newest = new Map<string, Scan>()
    for (const { message } of good)
      if ((newest.get(message.parcel)?.version ?? 0) < message.version) newest.set(message.parcel, message)
    const rows = [...newest.values()].sort((a, b) => (a.parcel < b.parcel ? -1 : 1))
    await tx.query(
      `insert into parcel as known select * from unnest($1::text[], $2::int[], $3::text[])
       on conflict (parcel) do update set version = excluded.version, place = excluded.place
       where known.version < excluded.version`,
      [rows.map(row => row.parcel), rows.map(row => row.version), rows.map(row => row.place)],
    )
    for (const { message, effects } of good)
      effects.publish('moved', { key: message.parcel, body: { scan: message.id } })
    return verdicts
  },
})

const scan = (number: number, parcel: string, version: number, place = `hub ${number}`) => ({
  ...{ id: `s-${number}`, parcel, version, place },
})

export const scene: Scene = {
  unusual: 'a batch handler whose statements depend on the batch, with a verdict for single items',
  tables: 'create table parcel (parcel text primary key, version integer not null, place text not null)',
  samples: [scan(1, 'a', 1), scan(2, 'b', 1), scan(3, 'a', 2, ''), scan(4, 'a', 3), scan(5, 'b', 2)],
}
