/**
 * Rows of one consumer by their key, looked up one by one. Statistics are outdated for a new consumer: the
 * planner expects a single row, and a join or a list of keys then reads all rows of the consumer for every
 * batch (6,000 messages a second in place of 31,000 with one in a hundred deferred). A look-up with a limit
 * leaves the planner no choice.
 */
export function lookupByKey(
  table: 'inbox' | 'business_key',
  key: 'message_id' | 'key',
  keys: string,
  columns = 'ctid',
): string {
  return `${keys} cross join lateral (
      select ${columns} from onceward.${table} where consumer_id = $1 and ${key} = asked.key limit 1) found`
}

/**
 * Markers that are found by ctid must also match by key: over several tables (see
 * `migrations/0001-first-set/marker-days.ts`) a ctid is not unique. Written so that no index matches: a list
 * of keys would allow another plan, and the wrong one.
 */
export const isAsked = `inbox.consumer_id + 0 = $1 and inbox.message_id || '' = any($2::text[])`

/**
 * If the markers are in several tables, a ctid is looked up in each of them: 500 ctids in 35 days are 17,500
 * pages. By key each is looked up in one. The consumer is a value of the row, not a constant: for a constant
 * the planner trusts its statistics, expects few rows, and reads them all (see above).
 */
export function byKey(keys: string, columns = ''): string {
  return `(select $1::integer as consumer, asked.key${columns} from ${keys} offset 0) asked`
}

/**
 * Arrays of one element: a plain equality can be hashed, and then a small table is read completely for every
 * batch.
 */
export const isKeyed =
  'inbox.consumer_id = any (array[asked.consumer]) and inbox.message_id = any (array[asked.key])'
