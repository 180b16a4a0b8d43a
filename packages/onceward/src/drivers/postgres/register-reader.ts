import { OncewardError } from '../../errors.ts'
import type { ConsumerFacts, Reading } from '../../ports/store.ts'
import type { SqlClient } from './pool.ts'
import { isoTime } from './sql/iso-time.ts'

/**
 * Refuses a name that is new where another has been reading: it would remember nothing of what that one
 * applied. Writes nothing.
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

/** The same, and from now on this name is the one that reads there. */
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
    `${what} was read by consumer "${other.name}" (last start ${other.lastAt}), and "${name}" remembers nothing of it: what comes again would be applied again. Nothing was started and nothing is lost. Was it renamed? "onceward consumers rename ${other.name} ${name} --because …" gives it that memory. Is it another consumer on purpose? "onceward consumers separate ${name} --from ${other.name} --because …".`,
    { details: { formerly: other.name } },
  )
}
