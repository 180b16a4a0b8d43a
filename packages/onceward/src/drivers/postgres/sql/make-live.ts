import type { Enrolment } from '../../../ports/enrolment.ts'
import type { SqlClient } from '../pool.ts'

/**
 * The epoch is raised: a worker that holds the row in another mode cannot finish it. The index contains only
 * rows of campaigns and replays.
 */
const update = `
  update onceward.held set mode = 'live', campaign_id = null, epoch = epoch + 1, lease_until = null
  where id = any (array(
    select id from onceward.held where consumer_id = $1 and message_id = any($2::text[]) and mode <> 'live' order by id for update))`

export async function makeLive(
  client: SqlClient,
  { consumerId }: Enrolment,
  ids: readonly string[],
): Promise<void> {
  await client.query(update, [consumerId, ids])
}
