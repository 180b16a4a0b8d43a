/**
 * Rows of one consumer by their key, looked up one by one. Statistics know the consumers of yesterday: of one that is new, the planner expects a
 * single row, and a join, or a list of keys, then reads everything the consumer has for every batch (6,000 messages a second in place of 31,000
 * with one in a hundred deferred). A look-up with a limit leaves it no choice.
 */
export function oneByOne(
  table: 'inbox' | 'business_key',
  key: 'message_id' | 'key',
  keys: string,
  columns = 'ctid',
): string {
  return `${keys} cross join lateral (
      select ${columns} from onceward.${table} where consumer_id = $1 and ${key} = asked.key limit 1) found`
}
