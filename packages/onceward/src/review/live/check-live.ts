import type { Consumer } from '../../contract/define-consumer.ts'
import { isTransform } from '../../contract/define-transform.ts'
import { createPool, type OwnPool } from '../../drivers/postgres/pool.ts'
import type { PostgresQueue } from '../../drivers/postgres/queue/declaration.ts'
import { type DatabaseFacts, readDatabase } from '../../drivers/postgres/server/read-database.ts'
import type { Environment } from '../../environment.ts'
import { errorText } from '../../errors.ts'
import type { Finding } from '../rule.ts'
import { silentServer, unaskedServer } from '../rules/itself.ts'
import { memoryRules } from '../rules/memory.ts'
import { postgresRules } from '../rules/postgres.ts'
import { aboutServer, type Checked, judgeAll, type LiveAccess } from './access.ts'
import { checkKafka } from './kafka.ts'
import { oddAnswers } from './odd-answers.ts'
import { checkRabbit } from './rabbitmq.ts'
import { checkSchemas } from './schema.ts'
import { placeOf, within } from './within.ts'

/**
 * Compares contracts with the servers they name. Only reads: declares, joins, consumes and writes nothing.
 * Every server is asked once, side by side, and none is waited for longer than 15 s.
 */
export async function checkLive(all: readonly Checked[], access: LiveAccess): Promise<Finding[]> {
  // A transform keeps nothing in a database.
  const storing = all.filter(({ consumer }) => !isTransform(consumer))
  const [rabbit, kafka, schemas, stored] = await Promise.all([
    checkRabbit(all, access),
    checkKafka(all, access),
    checkSchemas(all, access),
    storing.length > 0 || all.length === 0 ? checkDatabase(storing, access) : notStored,
  ])
  const windows = new Map([...rabbit.windows, ...kafka.windows])
  const clusters = new Map([...rabbit.clusters, ...kafka.clusters])
  const checkedNames = new Set(all.map(({ consumer }) => consumer.name))
  const memory = storing.flatMap(({ consumer, file }) =>
    judgeAll(
      memoryRules,
      {
        consumer,
        database: stored.facts,
        window: windows.get(file) ?? null,
        unfit: stored.unfit.get(file) ?? null,
        cluster: clusters.get(file) ?? null,
        environment: access.environment,
        checkedNames,
      },
      { consumer: consumer.name, place: file },
    ),
  )
  return [
    ...stored.findings,
    ...rabbit.findings,
    ...kafka.findings,
    ...schemas,
    ...all.flatMap(queueElsewhere),
    ...memory,
  ]
}

/** A queue in another database than the store's is not checked. */
function queueElsewhere({ consumer, file }: Checked): Finding[] {
  const { kind, queue, url } = consumer.source as Partial<PostgresQueue>
  if (kind !== 'postgres' || url === undefined) return []
  const text = `queue ${queue} is in another database, which the check does not read`
  return aboutServer(unaskedServer, text, file, consumer.name)
}

interface StoredAnswer {
  readonly findings: readonly Finding[]
  readonly facts: DatabaseFacts | null
  /** By file: what a declared effect says of its tables. */
  readonly unfit: ReadonlyMap<string, string>
}

const notStored: StoredAnswer = { findings: [], facts: null, unfit: new Map() }

async function checkDatabase(all: readonly Checked[], access: LiveAccess): Promise<StoredAnswer> {
  const { databaseUrl, env, wallMs } = access
  const unfit = new Map<string, string>()
  if (databaseUrl === undefined) {
    const text = 'the address of the database is not set (ONCEWARD_DATABASE_URL)'
    return { findings: aboutServer(unaskedServer, text, 'PostgreSQL'), facts: null, unfit }
  }
  const place = placeOf(databaseUrl)
  const pool = createPool(databaseUrl, { max: 2 })
  try {
    const facts = await within(access, readDatabase(pool), () => pool.cut())
    const findings = [
      ...judgeAll(postgresRules, { ...facts, wallMs: wallMs() }, { consumer: null, place }),
      ...hiddenTransactions(facts, place),
      ...aboutServer(unaskedServer, oddAnswers(facts), place),
    ]
    if (facts.pooling !== 'statement' && facts.schema !== null)
      await within(access, verifyEffects(pool, all, env, unfit), () => pool.cut())
    return { findings, facts, unfit }
  } catch (error) {
    return { findings: aboutServer(silentServer, errorText(error, 500), place), facts: null, unfit }
  } finally {
    // A connection that was never answered would be waited for as long as the client tries.
    await within({ env, timeoutMs: 1_000 }, pool.end()).catch(() => {})
  }
}

/** PostgreSQL shows a login no age for the transactions of others: a null there is not zero. */
function hiddenTransactions({ role, seesTransactions }: DatabaseFacts, place: string): Finding[] {
  if (seesTransactions) return []
  const text = `${role} may not see the age of transactions of other logins (grant pg_read_all_stats), so OW416 checked only its own`
  return aboutServer(unaskedServer, text, place)
}

/** Declared effects compare themselves with their tables, in a transaction that may not write. */
async function verifyEffects(
  pool: OwnPool,
  all: readonly Checked[],
  env: Environment,
  unfit: Map<string, string>,
): Promise<void> {
  for (const { consumer, file } of all) {
    const effect = consumer.effect?.apply
    if (effect === undefined) continue
    const client = await pool.connect()
    try {
      await client.query(`begin transaction read only; set local statement_timeout = '5s'`)
      const query = async (text: string, values?: readonly unknown[]) => {
        const { rows, rowCount } = await client.query(text, values)
        return { rows, rowCount: rowCount ?? 0 }
      }
      await effect.verify(query as never, { consumer: consumer as Consumer, env })
    } catch (error) {
      unfit.set(file, errorText(error, 500))
    } finally {
      await client.query('rollback').catch(() => {})
      client.release()
    }
  }
}
