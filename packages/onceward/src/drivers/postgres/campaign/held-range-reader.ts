import { bareCopy } from '../../../message/bare-map.ts'
import { fromStoredJson } from '../../../message/stored-json.ts'
import type { HeldState } from '../../../ports/held-record.ts'
import type { LogRecord } from '../../../ports/log-record.ts'
import type { LogRange, Page, RangeReader } from '../../../ports/range-reader.ts'
import type { DeliveryProperties, Position } from '../../../ports/source.ts'
import type { SqlClient } from '../pool.ts'

const pageRows = 500

/** Reads held messages, oldest first. Their state is not changed. */
export class HeldRangeReader implements RangeReader {
  readonly origin = 'held'
  readonly #client: SqlClient
  readonly #values: readonly [string, number, readonly HeldState[]]

  constructor(
    client: SqlClient,
    consumer: { readonly name: string; readonly generation: number },
    states: readonly HeldState[],
  ) {
    this.#client = client
    this.#values = [consumer.name, consumer.generation, states]
  }

  async survey(): Promise<readonly LogRange[]> {
    const { rows } = await this.#client.query(
      `select min(h.id)::text as first, (max(h.id) + 1)::text as next from onceward.held h where ${ofConsumer}`,
      this.#values,
    )
    const { first, next } = rows[0]
    return first === null ? [] : [{ partition: 'held', incarnation: 'held', from: first, to: next }]
  }

  async read(_partition: string, { next }: Position): Promise<Page> {
    const { rows } = await this.#client.query(
      `select h.id::text, onceward.body_of(h.id, h.body) as body, h.headers::text, h.properties::text, h.broker_key, h.position,
         extract(epoch from h.first_at) * 1000 as at_ms
       from onceward.held h where ${ofConsumer} and h.id >= $4 order by h.id limit ${pageRows}`,
      [...this.#values, next],
    )
    const whole = rows.length < pageRows
    const last = rows.at(-1)
    const readOn = last === undefined || whole ? endOfTime : String(BigInt(last.id) + 1n)
    return { kind: 'records', records: rows.map(recordOf), next: readOn, atEnd: whole, behind: null }
  }

  async close(): Promise<void> {}
}

const ofConsumer = `h.consumer_id = (select id from onceward.consumer where name = $1 and generation = $2)
  and h.state = any($3::onceward.held_state[])`

/** Beyond every row; a range ends before. */
const endOfTime = String(2n ** 63n - 1n)

// biome-ignore lint/suspicious/noExplicitAny: shaped by the statement above
function recordOf(row: any): LogRecord {
  const properties = fromStoredJson(row.properties) as DeliveryProperties
  return {
    body: row.body,
    headers: fromStoredJson(row.headers),
    properties: bareCopy({ timestampMs: Number(row.at_ms) }, properties),
    key: row.broker_key,
    at: row.id,
    next: String(BigInt(row.id) + 1n),
    position: row.position ?? `held@${row.id}`,
    redelivered: true,
  }
}
