/**
 * Rows of one consumer by their key, looked up one by one. Statistics know the consumers of yesterday: of one
 * that is new, the planner expects a single row, and a join, or a list of keys, then reads everything the
 * consumer has for every batch (6,000 messages a second in place of 31,000 with one in a hundred deferred). A
 * look-up with a limit leaves it no choice.
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

/**
 * Markers that are found by their place are theirs by key as well: over several tables (see
 * `0010-marker-days.ts`) a place is not one row's alone. Written so that no index offers itself: a list of
 * keys would be another way in, and the wrong one.
 */
export const isAsked = `inbox.consumer_id + 0 = $1 and inbox.message_id || '' = any($2::text[])`

/**
 * Where markers lie in several tables a place leads into all of them: 500 places in 35 days are 17,500 pages.
 * By key each is looked for in one. The consumer comes with the key, not as a constant: of a constant the
 * planner believes to know how few rows it has, and reads them all (see above).
 */
export function byKey(keys: string, columns = ''): string {
  return `(select $1::integer as consumer, asked.key${columns} from ${keys} offset 0) asked`
}

/**
 * Lists of one: what is plainly equal can be hashed, and then a whole table is read for every batch as long
 * as it is small.
 */
export const isKeyed =
  'inbox.consumer_id = any (array[asked.consumer]) and inbox.message_id = any (array[asked.key])'
