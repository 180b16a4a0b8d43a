import type { SqlTransaction } from '../../contract/contract.ts'
import { bareLiteral, columnArray } from './column-array.ts'
import type { Table } from './describe-table.ts'
import type { Target } from './plan.ts'
import type { Fact, KeyFacts } from './read-facts.ts'
import { type WriteParts, writtenColumns } from './table-statements.ts'
import type { Standing } from './walk-key.ts'

/** A row is to go from `found` (null: there is none) to what `fact` says. */
export interface Move<M> {
  readonly key: KeyFacts<M>
  readonly found: bigint | null
  readonly fact: Fact<M>
}

/** Writes what stands where it is expected, in one statement; answers with the moves that do not. */
export async function writeMoves<M>(
  { table, statements }: Target<M>,
  moves: readonly Move<M>[],
  tx: SqlTransaction,
  how: Omit<WriteParts, 'moves' | 'adds'>,
): Promise<readonly Move<M>[]> {
  const adds = moves.some(move => move.found === null)
  const text = statements.write({ moves: moves.some(move => move.found !== null), adds, ...how })
  const { rows } = await tx.query<{ count: number; done: number[] | null }>(text, [
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
  if (rows[0]!.count === moves.length) return []
  const done = new Set(rows[0]!.done)
  return moves.filter((_, index) => !done.has(index + 1))
}

/** In the order of `writtenColumns`: version, values, then the flag and the digest where the table has them. */
function writtenValue<M>(fact: Fact<M>, index: number, { values, deleted }: Table): unknown {
  const flagAt = deleted === null ? -1 : values.length + 1
  if (index === 0) return fact.version
  if (index <= values.length) return fact.values[index - 1]
  return index === flagAt ? fact.deletes : fact.digest
}

/** The rows of these keys, locked in order until the end of the transaction. */
export async function readStandings<M>(
  { table, statements }: Target<M>,
  keys: readonly KeyFacts<M>[],
  tx: SqlTransaction,
): Promise<ReadonlyMap<KeyFacts<M>, Standing>> {
  const { rows } = await tx.query<{ n: number; version: string; deleted: boolean; digest: Buffer | null }>(
    statements.read,
    table.keys.map((_, index) => keys.map(key => key.parts[index])),
  )
  return new Map(
    rows.map(({ n, version, deleted, digest }) => [
      keys[n - 1]!,
      { version: BigInt(version), deleted, digest },
    ]),
  )
}
