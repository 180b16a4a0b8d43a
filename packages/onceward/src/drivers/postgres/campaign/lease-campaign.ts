import type { SqlClient } from '../pool.ts'
import { leaseEnded } from '../sql/clock-ahead.ts'

/** The new epoch. Null when another process has the lease, or the state does not allow a run. */
export async function leaseCampaign(
  client: SqlClient,
  id: string,
  holder: string,
  leaseS: number,
): Promise<number | null> {
  const { rows } = await client.query(
    `update onceward.campaign set state = 'running', holder = $2, leased_at = clock_timestamp(), lease_until = clock_timestamp() + $3 * interval '1 second',
       epoch = epoch + 1, started_at = coalesce(started_at, clock_timestamp()), ended_at = null, wanted = null, failure = null
     where id = $1 and (state in ('previewed', 'paused', 'failed')
       or (state = 'running' and ${leaseEnded('lease_until', 'clock_timestamp()', String(1_000 * leaseS))})
       or (mode = 'rebuild' and state in ('ran', 'verified'))) returning epoch`,
    [id, holder, leaseS],
  )
  return rows[0]?.epoch ?? null
}

/** What an operator asked the process to do. Null when the lease is lost. */
export async function extendCampaignLease(
  client: SqlClient,
  id: string,
  epoch: number,
  leaseS: number,
): Promise<{ readonly wanted: 'pause' | 'cancel' | null } | null> {
  const { rows } = await client.query(
    `update onceward.campaign set lease_until = clock_timestamp() + $3 * interval '1 second'
     where id = $1 and epoch = $2 and state = 'running' returning wanted`,
    [id, epoch, leaseS],
  )
  return rows[0] ?? null
}

export async function endCampaignLease(
  client: SqlClient,
  id: string,
  epoch: number,
  { failure, wanted }: { readonly failure: string | null; readonly wanted: 'pause' | 'cancel' | null },
): Promise<void> {
  await client.query(
    `update onceward.campaign c set holder = null, leased_at = null, lease_until = null, ended_at = clock_timestamp(), failure = $3, wanted = null,
       state = case when $4 = 'cancel' then 'cancelled' when $3::text is not null then 'failed' when onceward.campaign_complete(c) then 'ran'
         else 'paused' end
     where id = $1 and epoch = $2 and state = 'running'`,
    [id, epoch, failure, wanted],
  )
}
