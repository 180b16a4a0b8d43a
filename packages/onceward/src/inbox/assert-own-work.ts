import type { Mode } from '../contract/contract.ts'
import type { Consumer } from '../contract/define-consumer.ts'
import type { Store } from '../contracts/store.ts'
import { OncewardError } from '../errors.ts'

const foreign = `
  select run.mode, count(*)::integer as count from onceward.held
  join onceward.consumer on consumer.id = held.consumer_id join onceward.run on run.id = held.run_id
  where consumer.name = $1 and consumer.generation = $2 and held.due_at is not null and run.mode <> $3
  group by run.mode order by run.mode limit 1`

/** A replay or a rebuild suppresses what handlers ask for outside the database: work that was stored to be done for good is not its to take. */
export async function assertOwnWork<M, Tx>(
  { name, generation }: Consumer<M, Tx>,
  store: Store<Tx>,
  mode: Mode,
): Promise<void> {
  if (mode === 'live') return
  const { rows } = await store.query!<{ mode: string; count: number }>(foreign, [name, generation, mode])
  if (rows.length === 0) return
  throw new OncewardError(
    'configuration',
    `Consumer ${name} (generation ${generation}) has ${rows[0]!.count} messages stored in mode ${rows[0]!.mode}. A worker in mode ${mode} would apply them and suppress their external effects and messages for good. Nothing was started. Let workers in mode ${rows[0]!.mode} finish them first, or begin a new generation.`,
  )
}
