import { keptBesideMarkers } from '../../contracts/kept-beside-markers.ts'
import type { ConsumerFacts, Enrolment, Store } from '../../contracts/store.ts'
import { OncewardError } from '../../errors.ts'
import type { Log } from '../../surroundings.ts'
import { diagnose } from './diagnose.ts'
import { meetBroker } from './meet-broker.ts'
import { assertUsable } from './migrate.ts'
import { noteReading } from './note-reading.ts'
import type { SqlClient } from './pool.ts'
import { proveReplicated } from './replication.ts'
import type { ServerLife } from './server-life.ts'
import { RepeatNotes } from './sql/note-repeats.ts'
import { beginPartition, declareLoss, takePartitions } from './sql/own-partitions.ts'
import { suspectLedger } from './sql/silent-runs.ts'

/** The calls of a store that are a statement each, outside of any batch; the same however its transactions are opened. */
export function outsideTransactions(
  client: SqlClient,
  environment: string | undefined,
  life: ServerLife,
  log: Log,
): Required<Omit<Store<never>, 'capabilities' | 'transaction' | 'unwrap' | 'work'>> {
  const repeats = new RepeatNotes(client)
  return {
    diagnose,
    noteRepeats: (enrolment, ids) => repeats.add(enrolment, ids),
    async enroll(facts) {
      await assertUsable(client, environment)
      await life.check(client)
      if (facts.mode === 'live') {
        await assertNoRebuilds(client, facts)
        await noteReading(client, facts)
      }
      return enroll(client, facts)
    },
    meetBroker: broker => meetBroker(client, broker, log),
    async closeRun({ runId }) {
      await repeats.flush()
      await client.query(closeRun, [runId])
    },
    takePartitions: (enrolment, partitions) => takePartitions(client, enrolment, partitions),
    beginPartition: (enrolment, ...where) => beginPartition(client, enrolment, ...where),
    declareLoss: (enrolment, loss) => declareLoss(client, enrolment, loss),
    suspects: suspectLedger(client, life),
    query: async (text, values) => {
      const { rows, rowCount } = await client.query(text, values as unknown[])
      return { rows, rowCount: rowCount ?? 0 }
    },
    async ping() {
      await life.check(client)
      await proveReplicated(client)
    },
  }
}

/** A run that ends in order did not die over the groups it may have left. */
const closeRun = `
  with closed as (update onceward.run set ended_at = clock_timestamp() where id = $1 returning consumer_id)
  delete from onceward.suspect_group g using closed c where g.consumer_id = c.consumer_id and g.run_id = $1`

/** A rebuild remembers under a generation of its own what went into its tables: a live consumer of that generation would skip all of it. */
async function assertNoRebuilds(client: SqlClient, { name, generation }: ConsumerFacts): Promise<void> {
  const { rows } = await client.query(
    `select id::text, (select max(c.generation) + 1 from onceward.campaign c where c.consumer_name = $1) as free
     from onceward.campaign where consumer_name = $1 and generation = $2 and mode = 'rebuild' limit 1`,
    [name, generation],
  )
  if (rows.length === 0) return
  throw new OncewardError(
    'configuration',
    `Generation ${generation} of consumer ${name} belongs to rebuild campaign ${rows[0].id}, which has seen the messages already: they would be taken for duplicates. Nothing was started and nothing is lost. Use generation ${rows[0].free}.`,
  )
}

async function enroll(client: SqlClient, facts: ConsumerFacts): Promise<Enrolment> {
  const consumer = await client.query(
    `insert into onceward.consumer as c (name, generation, owner, risk, dedup) values ($1, $2, $3, $4, $5)
     on conflict (name, generation) do update set owner = excluded.owner, risk = excluded.risk,
       dedup = case when excluded.dedup = 'checkpoint' and c.dedup <> 'checkpoint' and exists (
         select from onceward.checkpoint where consumer_id = c.id and next is not null
       ) then c.dedup else excluded.dedup end
     returning id, dedup`,
    [facts.name, facts.generation, facts.owner, facts.risk, facts.dedup],
  )
  if (consumer.rows[0].dedup !== facts.dedup) throw keptBesideMarkers(facts)
  const consumerId = consumer.rows[0].id as number
  const run = await client.query(
    `insert into onceward.run (consumer_id, instance, handler_version, mode, deliveries_max) values ($1, $2, $3, $4, $5)
     returning id, (select relkind = 'p' from pg_class where oid = 'onceward.inbox'::regclass) as spread`,
    [consumerId, facts.instance, facts.handlerVersion, facts.mode, facts.deliveriesMax],
  )
  const { id, spread } = run.rows[0]
  return { consumerId, runId: id as number, facts, markersSpread: spread as boolean }
}
