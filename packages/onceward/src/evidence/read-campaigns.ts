import { readFindingsOf, readSuppressedOf } from '../drivers/postgres/evidence/read-campaigns.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import type { Event, Subject } from './explanation.ts'

/** Findings of campaigns about the message, and effects that they suppressed. */
export async function readCampaigns(client: SqlClient, subject: Subject): Promise<readonly Event[]> {
  const [found, held] = await Promise.all([
    readFindingsOf(client, subject),
    readSuppressedOf(client, subject),
  ])
  return [
    ...found.map(row => ({
      at: row.at,
      what: `campaign ${row.id} (${row.mode})`,
      by: row.actor,
      text: `${[row.outcome, row.code, row.said].filter(part => part !== '').join(': ')}; campaign reason: ${row.reason}`,
      facts: { campaign: row.id, mode: row.mode, outcome: row.outcome },
    })),
    ...held.map(row => ({
      at: row.at,
      what: `campaign ${row.id} (${row.mode})`,
      by: row.actor,
      text: `suppressed ${row.kind === 'publish' ? 'a message' : 'a call'} to ${row.target}/${row.key}`,
      facts: { campaign: row.id, mode: row.mode, suppressed: row.kind, target: row.target, key: row.key },
    })),
  ]
}
