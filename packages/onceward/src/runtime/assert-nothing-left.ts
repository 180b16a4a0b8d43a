import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import { readLeftBehind } from '../drivers/postgres/status/unserved-work.ts'
import { OncewardError } from '../errors.ts'

/**
 * A generation handles only its own rows. Stored, deferred and waiting messages of another generation were
 * acknowledged, and no broker redelivers them, so a start that leaves them without a worker is refused. Only
 * readers are refused: a worker of the other generation must be able to start.
 */
export async function assertNothingLeft(
  client: SqlClient,
  { name, generation }: Pick<Consumer<never, never>, 'name' | 'generation'>,
): Promise<void> {
  const [first] = await readLeftBehind(client, name, generation)
  if (first === undefined) return
  const { generation: other, waiting } = first
  throw new OncewardError(
    'configuration',
    `Generation ${other} of consumer ${name} has ${waiting} acknowledged messages that are stored, deferred or waiting, and no worker of it runs. Generation ${generation} never leases them. Nothing was started and nothing is lost. Run the contract with generation: ${other} and "onceward run <file> --part worker" until "onceward status" shows none pending, or leave that worker running beside; then start again.`,
    { details: { generation: other, waiting } },
  )
}
