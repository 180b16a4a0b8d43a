import type { Column, Table } from './describe-table.ts'

/** The statements of one table, all set-based. `n` is the position of a key in lock order. */
export interface ProjectionStatements {
  /** Reads and locks the existing rows of the given keys. */
  readonly read: string
  /** Moves rows from their expected version, and adds rows that are expected to be missing. */
  write(parts: WriteParts): string
}

export interface WriteParts {
  readonly moves: boolean
  readonly adds: boolean
  /** Skips deleted rows. */
  readonly plainOnly: boolean
  /**
   * First locks every row in order, including those that do not move. With other writers of the same keys, a
   * second pass could deadlock.
   */
  readonly locks: boolean
  /** Where versions may be skipped: an insert that finds an older row moves it, and locks a newer one. */
  readonly upserts: boolean
  /** Returns the previous version of each upserted row, in their order. Needs PostgreSQL 18. */
  readonly returnsOld: boolean
}

/**
 * Leaves only index lookups to the planner. It would choose a join by the sizes of both sides and read a
 * table of 50,000 rows completely, at two to three times the cost of a lookup per key. Up to PostgreSQL 17 a
 * plan that cannot do without costs so much that JIT would compile it. Local to the transaction.
 */
export const lookUpByKey = `
  select set_config('enable_hashjoin', $1, true), set_config('enable_mergejoin', $1, true), set_config('enable_seqscan', $1, true),
    set_config('jit', 'off', true)`

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
 * One statement for the batch: rows at the expected version are moved, rows expected to be missing are added.
 * Rows that do not match are left unchanged. The answer is one row, and lists what was done only when
 * something was left. Added rows are named by their key: joined with the input, one row left of 400 made the
 * statement ten times as slow. The statement reads the run's setting, which exists only in our transaction,
 * so it can never commit on its own.
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
  if (parts.returnsOld) done.push('array(select was from added) as was')
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

function addRows(table: Table, { plainOnly, upserts, returnsOld }: WriteParts): string {
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
      ${returnsOld ? `, old.${version.name}::text as was` : ''}`
}

function givenValues(table: Table): string[] {
  return writtenColumns(table).map((column, index) => `${column.name} = ${sentValue(column, `g.c${index}`)}`)
}

const notDeleted = ({ deleted }: Table) => (deleted === null ? '' : `and not coalesce(t.${deleted}, false)`)

/** All columns except the key, in the order of the parameters. */
export function writtenColumns({ version, values, deleted, digest }: Table): readonly Column[] {
  const own = (name: string | null, type: string): Column[] =>
    name === null ? [] : [{ name, plainName: name, type, sent: 'as is', fit: value => value }]
  return [version, ...values, ...own(deleted, 'boolean'), ...own(digest, 'bytea')]
}

/** $1 is the number of rows, $2 their expected versions, followed by keys and the other columns. */
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
