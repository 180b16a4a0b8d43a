import pg from 'pg'
import type { Place } from '../place.ts'
import type { Increment } from '../workload.ts'
import { handlerConnections } from './peer.ts'

export type Effect = (message: Increment) => Promise<unknown>

export const increment = 'update counter set total = total + $2 where key = $1'

/** The marker and the effect in one statement, which is one transaction and one round trip. */
const incrementOnce = `
  with marker as (
    insert into bench_inbox (consumer, id, digest) values (1, $1, '') on conflict do nothing returning id)
  update counter set total = total + $3 where key = $2 and exists (select from marker)`

function handlerPool({ databaseUrl }: Place): pg.Pool {
  return new pg.Pool({ connectionString: databaseUrl, max: handlerConnections })
}

/** The effect and nothing against duplicates: one prepared statement. */
export function plainEffect(place: Place): Effect {
  const pool = handlerPool(place)
  return ({ key, amount }) => pool.query({ name: 'increment', text: increment, values: [key, amount] })
}

/** The effect behind a marker that the team's own table keeps. */
export function markedEffect(place: Place): Effect {
  const pool = handlerPool(place)
  return ({ id, key, amount }) =>
    pool.query({ name: 'increment_once', text: incrementOnce, values: [id, key, amount] })
}
