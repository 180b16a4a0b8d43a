import type { Snapshot, SnapshotRow } from './snapshot.ts'

/** Rows that a run has and the clean run has not, and the other way round. */
export interface Difference {
  /** A table, `calls`, `publications` or `outcomes`. */
  readonly where: string
  /** Rows of the clean run that are missing, or that have other values. */
  readonly missing: readonly SnapshotRow[]
  /** Rows that the clean run does not have. */
  readonly extra: readonly SnapshotRow[]
}

/** Columns whose values are not compared, as `table.column`. */
export type Masks = ReadonlySet<string>

/**
 * The run compared with the clean one, as sets. `ordered`: the contract keeps an order, so each message must
 * end in the same state.
 */
export function compareSnapshots(
  clean: Snapshot,
  run: Snapshot,
  masks: Masks,
  { outcomes = true, ordered = true } = {},
): Difference[] {
  const found: Difference[] = []
  const add = (where: string, expected: readonly SnapshotRow[], actual: readonly SnapshotRow[]) => {
    const difference = compareRows(where, masked(where, expected, masks), masked(where, actual, masks))
    if (difference !== null) found.push(difference)
  }
  for (const name of new Set([...clean.tables.keys(), ...run.tables.keys()]))
    add(name, clean.tables.get(name) ?? [], run.tables.get(name) ?? [])
  for (const [where, kind] of [
    ['calls', 'call'],
    ['publications', 'publication'],
  ] as const) {
    const of = (snapshot: Snapshot) => snapshot.intents.filter(one => one.kind === kind).map(rowOf)
    add(where, of(clean), of(run))
  }
  if (!outcomes) return found
  const difference = compareRows('outcomes', decided(clean, ordered), decided(run, ordered))
  return difference === null ? found : [...found, withReasons(difference, clean, run)]
}

const rowOf = ({ target, key, body, fields }: Snapshot['intents'][number]) => ({
  ...{ target, key, body },
  ...fields,
})

const handled: readonly string[] = ['applied', 'ignored', 'stale', 'duplicate']

/**
 * A repeated delivery may record another reason, so only id and status count. Without an order, the older of
 * two messages is applied or stale, depending on which arrives first.
 */
const decided = ({ outcomes }: Snapshot, ordered: boolean) => {
  const shown = (status: string) => (!ordered && handled.includes(status) ? 'handled' : status)
  const rows = outcomes.map(({ id, status }) => ({ id, status: shown(status) }))
  return [...new Map(rows.map(row => [JSON.stringify(row), row])).values()]
}

/** Why a message was set aside in one of the runs. */
function withReasons({ where, missing, extra }: Difference, clean: Snapshot, run: Snapshot): Difference {
  const explained = (rows: readonly SnapshotRow[], { outcomes }: Snapshot) =>
    rows.map(row => {
      const outcome = outcomes.find(({ id, status }) => id === row.id && status === row.status)
      return outcome === undefined || outcome.reason === '' ? row : { ...row, reason: outcome.reason }
    })
  return { where, missing: explained(missing, clean), extra: explained(extra, run) }
}

function masked(where: string, rows: readonly SnapshotRow[], masks: Masks): SnapshotRow[] {
  return rows.map(row =>
    Object.fromEntries(Object.entries(row).filter(([column]) => !masks.has(`${where}.${column}`))),
  )
}

function compareRows(
  where: string,
  expected: readonly SnapshotRow[],
  actual: readonly SnapshotRow[],
): Difference | null {
  const missing = without(expected, actual)
  const extra = without(actual, expected)
  return missing.length + extra.length === 0 ? null : { where, missing, extra }
}

/** The rows of one list that the other does not have, each as often as it is missing. */
function without(rows: readonly SnapshotRow[], others: readonly SnapshotRow[]): SnapshotRow[] {
  const counts = new Map<string, number>()
  for (const other of others) counts.set(textOf(other), (counts.get(textOf(other)) ?? 0) + 1)
  return rows.filter(row => {
    const left = counts.get(textOf(row)) ?? 0
    if (left > 0) counts.set(textOf(row), left - 1)
    return left === 0
  })
}

const textOf = (row: SnapshotRow) => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Columns whose values differ between two runs that should be equal, as `table.column`. */
export function differingColumns(one: Snapshot, other: Snapshot): Set<string> {
  const found = new Set<string>()
  const look = (where: string, a: readonly SnapshotRow[], b: readonly SnapshotRow[]) => {
    for (const column of new Set([...a, ...b].flatMap(row => Object.keys(row)))) {
      const values = (rows: readonly SnapshotRow[]) => rows.map(row => JSON.stringify(row[column])).sort()
      if (values(a).join('\n') !== values(b).join('\n')) found.add(`${where}.${column}`)
    }
  }
  for (const [name, rows] of one.tables) look(name, rows, other.tables.get(name) ?? [])
  for (const [where, kind] of [
    ['calls', 'call'],
    ['publications', 'publication'],
  ] as const) {
    const of = (snapshot: Snapshot) => snapshot.intents.filter(intent => intent.kind === kind).map(rowOf)
    look(where, of(one), of(other))
  }
  return found
}
