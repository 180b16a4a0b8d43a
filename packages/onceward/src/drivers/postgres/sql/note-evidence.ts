import type { Enrolment } from '../../../ports/enrolment.ts'
import type { EvidenceNote, EvidenceSession } from '../../../ports/evidence.ts'
import type { SqlClient } from '../pool.ts'

const insert = `
  insert into onceward.note (consumer_id, message_id, code, detail, run_id)
  select $1, given.message_id, 'evidence ' || given.name, given.detail, $2
  from unnest($3::text[], $4::text[], $5::text[]) as given (message_id, name, detail)
  on conflict do nothing`

/** This transaction has inserted the markers of its whole batch already, also of messages that will fail. */
const find = `
  select from onceward.inbox i
  where i.consumer_id = (select id from onceward.consumer where name = $1 order by generation desc limit 1)
    and i.message_id = $2 and i.status = 'applied' and i.xmin <> pg_current_xact_id()::xid`

/** Evidence beside the markers of one batch. */
export function evidenceSession(client: SqlClient, { consumerId, runId, facts }: Enrolment): EvidenceSession {
  return {
    async note(notes: readonly EvidenceNote[]) {
      await client.query(insert, [
        consumerId,
        runId,
        notes.map(note => note.messageId),
        notes.map(note => note.name),
        notes.map(note => note.detail),
      ])
    },
    async isApplied(messageId, consumer) {
      const own = consumer === facts.name
      const { rows } = await client.query(own ? findOwn : find, [own ? consumerId : consumer, messageId])
      return rows.length > 0
    },
  }
}

const findOwn = `
  select from onceward.inbox i
  where i.consumer_id = $1 and i.message_id = $2 and i.status = 'applied'
    and i.xmin <> pg_current_xact_id()::xid`
