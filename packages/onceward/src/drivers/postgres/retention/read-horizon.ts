import type { SqlClient } from '../pool.ts'

/** How far back the markers of a consumer reach. */
export interface Horizon {
  readonly consumer: string
  readonly generation: number
  /** Messages created before this may have been applied although no marker exists. */
  readonly purgedBefore: Date
  readonly purgedCount: number
}

/** Null until markers of the consumer are removed. */
export async function readHorizon(client: SqlClient, consumerId: number): Promise<Horizon | null> {
  const { rows } = await client.query(
    `select name as consumer, generation, purged_before as "purgedBefore", purged_count::float8 as "purgedCount"
     from onceward.horizon join onceward.consumer on consumer.id = consumer_id where consumer_id = $1`,
    [consumerId],
  )
  return (rows[0] as Horizon | undefined) ?? null
}
