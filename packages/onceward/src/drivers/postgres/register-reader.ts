import { OncewardError } from '../../errors.ts'
import type { ConsumerFacts, Reading } from '../../ports/enrolment.ts'
import type { SqlClient } from './pool.ts'
import { isoTime } from './sql/iso-time.ts'

/**
 * Refuses a new consumer name on a source that another consumer has been reading: it would have none of the
 * markers of that consumer. Writes nothing.
 */
export async function checkReader(client: SqlClient, { name, reading }: ConsumerFacts): Promise<void> {
  if (reading === undefined) return
  const { kind, place, virtualHost, reader } = reading
  const { rows } = await client.query(
    `select other as name, ${isoTime('last_at')} as "lastAt" from onceward.check_reader($1, $2, $3, $4, $5)`,
    [name, kind, place, reader, virtualHost],
  )
  refuseOther(rows[0], name, reading)
}

/** The same, and records this consumer as a reader of the source. */
export async function registerReader(client: SqlClient, { name, reading }: ConsumerFacts): Promise<void> {
  if (reading === undefined) return
  const { kind, place, virtualHost, reader, keeper } = reading
  const { rows } = await client.query(
    `select other as name, ${isoTime('last_at')} as "lastAt" from onceward.register_reader($1, $2, $3, $4, $5, $6)`,
    [name, kind, place, reader, keeper, virtualHost],
  )
  refuseOther(rows[0], name, reading)
}

function refuseOther(
  other: { readonly name: string | null; readonly lastAt: string },
  name: string,
  { kind, place, virtualHost, reader }: Reading,
): void {
  if (other.name === null) return
  const host = virtualHost === '' ? '' : ` in virtual host ${virtualHost}`
  const what = `${kind} ${place}${host}${reader === '' ? '' : ` as group ${reader}`}`
  throw new OncewardError(
    'consumer_renamed',
    `${what} was read by consumer "${other.name}" (last start ${other.lastAt}), and "${name}" has none of its markers: redelivered messages would be applied again. Nothing was started and nothing is lost. If the consumer was renamed: "onceward consumers rename ${other.name} ${name} --because …" moves the markers. If it is another consumer on purpose: "onceward consumers separate ${name} --from ${other.name} --because …".`,
    { details: { formerly: other.name } },
  )
}
