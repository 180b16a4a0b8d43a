import { isHeard } from '../sql/clock-ahead.ts'

/** Messages that wait for their next attempt in delay levels of a log that no process reads. */
export interface UnreadLevels {
  readonly consumer: string
  readonly generation: number
  readonly topics: readonly string[]
  readonly messages: number
}

/** A level is a topic beside the one that the consumer reads, according to the partitions of its runs. */
const levels = `
  select k.consumer_id, split.level as topic, coalesce(r.ended_at is null and ${isHeard('r.heartbeat_at', '30 seconds')}, false) as is_read
  from onceward.checkpoint k left join onceward.run r on r.id = k.run_id
  cross join lateral (select substring(k.partition from '^(.*)/[0-9]+$') as level, substring(k.partition from '^(.*)\\.retry\\.[0-9]+/[0-9]+$') as base) split
  where split.base is not null and exists (
    select from onceward.checkpoint m where m.consumer_id = k.consumer_id and starts_with(m.partition, split.base || '/'))`

/**
 * Attempted, and neither marked nor held: a copy is under way. A message older than the horizon may have been
 * applied.
 */
const onTheirWay = `
  select count(distinct a.message_id)::integer as messages from onceward.attempt a
  where a.consumer_id = c.id and a.at > coalesce((select h.purged_before from onceward.horizon h where h.consumer_id = c.id), '-infinity')
    and not exists (select from onceward.inbox i where i.consumer_id = c.id and i.message_id = a.message_id offset 0)`

export const unreadLevels = `
  select c.name as consumer, c.generation, unread.topics, way.messages
  from (select consumer_id, array_agg(topic order by topic) as topics from (
      select consumer_id, topic from (${levels}) l group by consumer_id, topic having not bool_or(is_read)) t group by consumer_id) unread
  join onceward.consumer c on c.id = unread.consumer_id
  cross join lateral (${onTheirWay}) way
  where way.messages > 0 order by 1, 2`
