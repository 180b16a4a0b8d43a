import type { Column, Table } from './describe-table.ts'

/** The statements of one table, all set-based. `n` is the place of a key in the order of locking. */
export interface ProjectionStatements {
  /** Keys → the rows that exist, locked. */
  readonly read: string
  /** Moves rows from the version they are expected at, and adds those that are expected to be missing. */
  write(parts: WriteParts): string
}

export interface WriteParts {
  readonly moves: boolean
  readonly adds: boolean
  /** Rows that were deleted are left alone. */
  readonly plainOnly: boolean
  /**
   * Locks every row in order first, also those that do not move: where others write the same keys, a second
   * pass could meet them in a circle.
   */
  readonly locks: boolean
  /**
   * Where versions may skip: what is to be added moves the row instead where an older one is there, and locks
   * it where a newer one is.
   */
  readonly upserts: boolean
  /** Answers with the version each upserted row had before, in their order. Needs PostgreSQL 18. */
  readonly tells: boolean
}

/**
 * A join would be planned by the sizes of the two sides: a table of 50,000 rows is read whole, at two to
 * three times the cost of looking each key up. This leaves only the index. Local to the transaction.
 */
export const lookUpByKey = `
  select set_config('enable_hashjoin', $1, true), set_config('enable_mergejoin', $1, true), set_config('enable_seqscan', $1, true)`

export function tableStatements(table: Table): ProjectionStatements {
  const texts = new Map<string, string>()
  return {
    read: readStatement(table),
    write(parts) {
      const name = JSON.stringify(parts)
      const text = texts.get(name) ?? writeStatement(table, parts)
      texts.set(name, text)
      return text
    },
  }
}

function readStatement({ name, keys, version, deleted, digest }: Table): string {
  const given = keys.map((key, index) => `$${index + 1}::${key.type}[]`)
  return `
    select g.n::integer as n, t.* from unnest(${given.join(', ')}) with ordinality as g (${keyAliases(keys)}, n)
    cross join lateral (
      select t.${version.name}::text as version, ${deleted === null ? 'false' : `coalesce(t.${deleted}, false)`} as deleted,
        ${digest === null ? 'null::bytea' : `t.${digest}`} as digest
      from ${name} t where ${sameKey(keys)} limit 1 for update
    ) t`
}

/**
 * One statement for the batch: what stands at the expected version moves, what is expected to be missing is
 * added. Whatever does not fit is left alone and not in the answer, which is one row; what was done is only
 * there when something was left. What was added is named by its key: joined with what was given, one row left
 * of 400 made the statement ten times as long. Read with the run's setting, which exists in our transaction
 * only, so that the statement can never commit by itself.
 */
function writeStatement(table: Table, parts: WriteParts): string {
  const written: { readonly statement: string; readonly count: string; readonly done: readonly string[] }[] =
    []
  if (parts.moves)
    written.push({
      statement: `moved as (${moveRows(table, parts)})`,
      count: '(select count(*) from moved)',
      done: ['array(select n::integer from moved) end as moved'],
    })
  if (parts.adds)
    written.push({
      statement: `added as (${addRows(table, parts)})`,
      count: '(select count(*) from added)',
      done: table.keys.map((_, index) => `array(select k${index} from added) end as k${index}`),
    })
  const done = written.flatMap(one => one.done).map(array => `case when w.count < $1::integer then ${array}`)
  if (parts.tells) done.push('array(select was from added) as was')
  return `
    with ${written.map(one => one.statement).join(', ')}
    select w.count, current_setting('onceward.run')::integer as run, ${done.join(', ')}
    from (select (${written.map(one => one.count).join(' + ')})::integer as count) w`
}

function moveRows(table: Table, { plainOnly, locks }: WriteParts): string {
  const { name, keys, version } = table
  const given = givenRows(table)
  const locked = `(select g.* from ${given} cross join lateral (select from ${name} t where ${sameKey(keys)} limit 1 for update) locked) g`
  return `update ${name} t set ${givenValues(table).join(', ')} from ${locks ? locked : given}
    where ${sameKey(keys)} and t.${version.name} = g.found ${plainOnly ? notDeleted(table) : ''}
    returning g.n`
}

function addRows(table: Table, { plainOnly, upserts, tells }: WriteParts): string {
  const { name, keys, version } = table
  const written = writtenColumns(table)
  const values = written.map((column, index) => sentValue(column, `g.c${index}`))
  const moves = `update set ${written.map(column => `${column.name} = excluded.${column.name}`).join(', ')}
    where t.${version.name} < excluded.${version.name} ${plainOnly ? notDeleted(table) : ''}`
  return `insert into ${name} as t (${[...keys, ...written].map(column => column.name).join(', ')})
    select ${[...keys.map((_, index) => `g.k${index}`), ...values].join(', ')}
    from ${givenRows(table)} where g.found is null order by g.n
    on conflict (${keys.map(key => key.name).join(', ')}) do ${upserts ? moves : 'nothing'}
    returning ${keys.map((key, index) => `t.${key.name}::text as k${index}`).join(', ')}
      ${tells ? `, old.${version.name}::text as was` : ''}`
}

function givenValues(table: Table): string[] {
  return writtenColumns(table).map((column, index) => `${column.name} = ${sentValue(column, `g.c${index}`)}`)
}

const notDeleted = ({ deleted }: Table) => (deleted === null ? '' : `and not coalesce(t.${deleted}, false)`)

/** Everything but the key, in the order of the parameters. */
export function writtenColumns({ version, values, deleted, digest }: Table): readonly Column[] {
  const own = (name: string | null, type: string): Column[] =>
    name === null ? [] : [{ name, plainName: name, type, sent: 'as is', fit: value => value }]
  return [version, ...values, ...own(deleted, 'boolean'), ...own(digest, 'bytea')]
}

/** $1 is the number of rows, $2 the versions they are expected at, then keys, then the rest. */
function givenRows(table: Table): string {
  const columns = [...table.keys, ...writtenColumns(table)]
  const arrays = columns.map(
    ({ type, sent }, index) => `$${index + 3}::${sent === 'as array literal' ? 'text' : type}[]`,
  )
  const names = writtenColumns(table).map((_, index) => `c${index}`)
  return `unnest($2::bigint[], ${arrays.join(', ')}) with ordinality as g (found, ${keyAliases(table.keys)}, ${names.join(', ')}, n)`
}

function sentValue({ type, sent }: Column, alias: string): string {
  return sent === 'as array literal' ? `${alias}::${type}` : alias
}

const keyAliases = (keys: readonly Column[]) => keys.map((_, index) => `k${index}`).join(', ')
const sameKey = (keys: readonly Column[]) =>
  keys.map(({ name }, index) => `t.${name} = g.k${index}`).join(' and ')
