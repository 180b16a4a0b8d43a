import type { Log } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import type { ConsumerFacts, Enrolment } from '../../ports/enrolment.ts'
import { keptBesideMarkers } from '../../ports/kept-beside-markers.ts'
import type { Store } from '../../ports/store.ts'
import { processDied } from '../../ports/suspects.ts'
import { assertUsable } from './assert-usable.ts'
import { ClockSteps } from './clock-steps.ts'
import { diagnose } from './diagnose.ts'
import type { SqlClient } from './pool.ts'
import { registerBroker } from './register-broker.ts'
import { checkReader, registerReader } from './register-reader.ts'
import { assertWarningsArrive, proveReplicated } from './replication.ts'
import { makeReceiptDays } from './retention/receipt-days.ts'
import { brakeLedger } from './run/brakes.ts'
import type { ServerIncarnation } from './server-incarnation.ts'
import { RepeatNotes } from './sql/note-repeats.ts'
import { beginPartition, declareLoss, takePartitions, withdrawLoss } from './sql/own-partitions.ts'
import { suspectLedger } from './sql/silent-runs.ts'

/** The capabilities of every store on PostgreSQL. */
export const sqlCapabilities = {
  durable: true,
  shared: true,
  sql: true,
  businessKeys: true,
  receipts: true,
  keyOrder: true,
  outgoing: true,
} as const

/** The calls of a store outside of batches, one statement each; the same for every kind of transaction. */
export function outsideTransactions(
  client: SqlClient,
  environment: string | undefined,
  incarnation: ServerIncarnation,
  log: Log,
): Required<Omit<Store<never>, 'capabilities' | 'transaction' | 'work'>> {
  const repeats = new RepeatNotes(client)
  return {
    diagnose,
    evidence: { noteRepeats: (enrolment, ids) => repeats.add(enrolment, ids) },
    async enroll(facts) {
      await assertUsable(client, environment)
      await assertWarningsArrive(client)
      await incarnation.check(client)
      if (facts.mode === 'live') {
        await assertNoRebuilds(client, facts)
        await checkReader(client, facts)
      }
      if (facts.keepsReceipts) await makeReceiptDays(client)
      const enrolment = await enroll(client, facts)
      // A concurrent rename has seen this run and was refused, or is seen here.
      if (facts.mode === 'live') await checkReader(client, facts)
      return enrolment
    },
    registry: {
      async registerReader({ facts }) {
        if (facts.mode === 'live') await registerReader(client, facts)
      },
      registerBroker: broker => registerBroker(client, broker, log),
    },
    async closeRun({ runId, facts }, halted) {
      await repeats.flush()
      await client.query(closeRun, [runId, facts.instance, halted ?? null])
    },
    checkpoints: {
      take: (enrolment, partitions) => takePartitions(client, enrolment, partitions),
      begin: (enrolment, ...where) => beginPartition(client, enrolment, ...where),
      declareLoss: (enrolment, loss) => declareLoss(client, enrolment, loss),
      withdrawLoss: (enrolment, ...loss) => withdrawLoss(client, enrolment, ...loss),
    },
    brakes: brakeLedger(client),
    suspects: suspectLedger(client, incarnation, new ClockSteps(client, log)),
    sql: {
      query: async (text, values) => {
        const { rows, rowCount } = await client.query(text, values as unknown[])
        return { rows, rowCount: rowCount ?? 0 }
      },
    },
    async ping() {
      await incarnation.check(client)
      await proveReplicated(client)
    },
  }
}

/**
 * A run that is closed in order did not crash: its unfinished messages count neither as suspects nor as
 * failed attempts.
 */
const closeRun = `
  with closed as (
    update onceward.run set ended_at = clock_timestamp(), halted_reason = $3 where id = $1 and instance = $2
    returning consumer_id),
  untried as (
    delete from onceward.attempt a using closed c
    where a.run_id = $1 and a.consumer_id = c.consumer_id and a.code = '${processDied}' and $3::text is null)
  delete from onceward.suspect_group g using closed c
  where g.consumer_id = c.consumer_id and g.run_id = $1 and $3::text is null`

/**
 * A rebuild records the messages of its tables under its own generation: a live consumer of that generation
 * would skip all of them.
 */
async function assertNoRebuilds(client: SqlClient, { name, generation }: ConsumerFacts): Promise<void> {
  const { rows } = await client.query(
    `select id::text, (select max(c.generation) + 1 from onceward.campaign c where c.consumer_name = $1) as free
     from onceward.campaign where consumer_name = $1 and generation = $2 and mode = 'rebuild' limit 1`,
    [name, generation],
  )
  if (rows.length === 0) return
  throw new OncewardError(
    'configuration',
    `Generation ${generation} of consumer ${name} belongs to rebuild campaign ${rows[0].id}, which has already processed the messages: they would count as duplicates. Nothing was started and nothing is lost. Use generation ${rows[0].free}.`,
  )
}

function destinationsOf({ destinations, addresses = {} }: ConsumerFacts): string | null {
  if (destinations === undefined) return null
  const known = Object.entries(destinations).map(([kind, name]) => [
    kind,
    { name, address: addresses[kind] ?? null },
  ])
  return JSON.stringify(Object.fromEntries(known))
}

/** One statement: a rename that waits for the row of the consumer then finds the run as well. */
const enrolConsumer = `
  with enrolled as (
    insert into onceward.consumer as c (name, generation, owner, risk, dedup) values ($1, $2, $3, $4, $5)
    on conflict (name, generation) do update set owner = excluded.owner,
      risk = case when $8 = 'live' then excluded.risk else c.risk end,
      dedup = case when excluded.dedup = 'checkpoint' and c.dedup <> 'checkpoint' and exists (
        select from onceward.checkpoint where consumer_id = c.id and next is not null
      ) then c.dedup else excluded.dedup end
    returning id, dedup),
  began as (
    insert into onceward.run (consumer_id, instance, handler_version, mode, deliveries_max, destinations)
    select id, $6, $7, $8, $9, $10::jsonb from enrolled where dedup = $5 returning id)
  select enrolled.id as consumer_id, began.id as run_id,
    (select relkind = 'p' from pg_class where oid = 'onceward.inbox'::regclass) as spread,
    exists (select from onceward.consumer o where o.name = $1 and o.generation <> $2) as others
  from enrolled left join began on true`

async function enroll(client: SqlClient, facts: ConsumerFacts): Promise<Enrolment> {
  const { name, generation, owner, risk, dedup, instance, handlerVersion, mode, deliveriesMax } = facts
  const values = [
    name,
    generation,
    owner,
    risk,
    dedup,
    instance,
    handlerVersion,
    mode,
    deliveriesMax,
    destinationsOf(facts),
  ]
  const { rows } = await client.query(enrolConsumer, values)
  const { consumer_id: consumerId, run_id: runId, spread: markersSpread, others: hasOthers } = rows[0]
  if (runId === null) throw keptBesideMarkers(facts)
  return { consumerId, runId, facts, markersSpread, hasOthers }
}
