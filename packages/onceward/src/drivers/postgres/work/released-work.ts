import type { SqlTransaction } from '../../../contract/handler.ts'

/** Probes two indexes: due work, and released keys that may be live again. */
const look = `
  select c.id, exists (select from onceward.held h where h.consumer_id = c.id and h.due_at is not null) as work,
    exists (select from onceward.blocked_key b where b.consumer_id = c.id and b.state = 'released') as released
  from onceward.consumer c where c.name = $1 and c.generation = $2`

const sweep = 'select onceward.sweep_keys($1)'

/** How a worker learns of messages that an operator released, and gives keys back to the live flow. */
export function releasedWork(query: SqlTransaction['query']) {
  return {
    async look(name: string, generation: number) {
      const { rows } = await query<{ id: number; work: boolean; released: boolean }>(look, [name, generation])
      return rows[0] ?? null
    },
    async sweepKeys(consumerId: number): Promise<void> {
      await query(sweep, [consumerId])
    },
  }
}
