import type { SqlTransaction } from '../../contract/handler.ts'
import { bareLiteral, columnArray } from './column-array.ts'
import type { Table } from './describe-table.ts'
import type { ProjectionTable } from './plan.ts'
import { type KeyFacts, nameOf, type ProjectionFact } from './read-facts.ts'
import { type WriteParts, writtenColumns } from './table-statements.ts'
import type { RowStanding } from './walk-key.ts'

/** Moves a row from version `found` (null: no row) to the content of `fact`. */
export interface RowMove<M> {
  readonly key: KeyFacts<M>
  readonly found: bigint | null
  readonly fact: ProjectionFact<M>
}

export interface WrittenMoves<M> {
  /** Moves whose row was not at the expected version. */
  readonly left: readonly RowMove<M>[]
  /** When requested: the previous versions of the moves that succeeded. */
  readonly was: readonly (string | null)[]
}

/** Writes every row that is at its expected version, in one statement. */
export async function writeMoves<M>(
  { table, statements }: ProjectionTable<M>,
  moves: readonly RowMove<M>[],
  tx: SqlTransaction,
  how: Omit<WriteParts, 'moves' | 'adds'>,
): Promise<WrittenMoves<M>> {
  const adds = moves.some(move => move.found === null)
  const text = statements.write({ moves: moves.some(move => move.found !== null), adds, ...how })
  const { rows } = await tx.query<Written>(text, [
    moves.length,
    bareLiteral(moves.map(move => move.found)),
    ...table.keys.map((_, index) => moves.map(move => move.key.parts[index])),
    ...writtenColumns(table).map((column, index) =>
      columnArray(
        column,
        moves.map(({ fact }) => writtenValue(fact, index, table)),
      ),
    ),
  ])
  const [written] = rows as [Written]
  const { count, was = [] } = written
  if (count === moves.length) return { left: [], was }
  const moved = new Set(written.moved)
  const added = new Set(addedNames(written, table))
  const left = moves.filter(({ key, found }, index) =>
    found === null ? !added.has(key.name) : !moved.has(index + 1),
  )
  return { left, was }
}

/**
 * When something was left, lists what was done: positions of moved rows, and the key columns of added ones.
 */
interface Written {
  readonly count: number
  readonly moved?: readonly number[] | null
  readonly was?: readonly (string | null)[]
  readonly [key: `k${number}`]: readonly string[] | null
}

function addedNames(written: Written, { keys }: Table): string[] {
  const columns = keys.map((_, index) => written[`k${index}`] ?? [])
  return columns[0]!.map((_, row) => nameOf(columns.map(column => column[row]!)))
}

/**
 * In the order of `writtenColumns`: version, values, then the deleted flag and the digest if the table has
 * them.
 */
function writtenValue<M>(fact: ProjectionFact<M>, index: number, { values, deleted }: Table): unknown {
  const flagAt = deleted === null ? -1 : values.length + 1
  if (index === 0) return fact.version
  if (index <= values.length) return fact.values[index - 1]
  return index === flagAt ? fact.deletes : fact.digest
}

/**
 * Reads the rows of these keys and locks them in order until the end of the transaction. A null version comes
 * from another writer: a projection never writes one.
 */
export async function readStandings<M>(
  { table, statements }: ProjectionTable<M>,
  keys: readonly KeyFacts<M>[],
  tx: SqlTransaction,
): Promise<ReadonlyMap<KeyFacts<M>, RowStanding | 'no version'>> {
  const { rows } = await tx.query<{
    n: number
    version: string | null
    deleted: boolean
    digest: Buffer | null
  }>(
    statements.read,
    table.keys.map((_, index) => keys.map(key => key.parts[index])),
  )
  return new Map(
    rows.map(({ n, version, deleted, digest }) => [
      keys[n - 1]!,
      version === null ? 'no version' : { version: BigInt(version), deleted, digest },
    ]),
  )
}
