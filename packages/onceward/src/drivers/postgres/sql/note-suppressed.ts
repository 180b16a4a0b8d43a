import type { SuppressedEffect } from '../../../ports/campaign-session.ts'

const insert = `
  insert into onceward.suppressed_effect (campaign_id, kind, target, key, message_id, digest)
  select $1, m.* from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[]) as m (kind, target, key, message_id, digest)
  order by 2, 3, 4 on conflict do nothing`

/** External effects that handlers requested and the campaign suppressed; each once. */
export async function noteSuppressed(
  client: { query(text: string, values: unknown[]): Promise<unknown> },
  campaignId: string,
  effects: readonly SuppressedEffect[],
): Promise<void> {
  await client.query(insert, [
    campaignId,
    effects.map(one => one.kind),
    effects.map(one => one.target),
    effects.map(one => one.key),
    effects.map(one => one.messageId),
    effects.map(one => one.digest),
  ])
}
