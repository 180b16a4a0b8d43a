import { quoted } from '../declared/names.ts'
import type { TableShape } from '../declared/tables.ts'
import { correctionStatements } from './correction-statements.ts'
import type { ContributionDeclaration } from './declaration.ts'
import {
  givenFacts,
  givenNames,
  inWindows,
  type Pieces,
  piecesOf,
  sameAs,
  summarise,
} from './statement-pieces.ts'

export interface ContributionStatements {
  /** Adds facts and their sums. Returns the number of new facts, and their ids if some were not new. */
  readonly add: string
  /** Which of these facts are stored, and whether their content is the same. */
  readonly compare: string
  /** The newest event time of each key. */
  readonly newest: string
  /** Ledger: locks and reads balances. */
  readonly lockBalances: string
  /** Reads the stored state of corrections and of their targets. */
  readonly readCorrections: string
  /** Reverses facts and adds their replacements, with their sums. Returns the number of added rows. */
  readonly correct: string
  /** Rows of a summary that differ from the facts. */
  readonly drift: (summary: string) => string
  /** Writes the summary of the facts to an empty table. */
  readonly rebuild: (into: string) => string
  /**
   * In one transaction: blocks writers, deletes the windows of a time range, and writes them from the facts.
   */
  readonly recompute: readonly [lock: string, remove: string, write: string]
}

/**
 * All statements of a declaration, with the types of its tables. Facts are passed as arrays in the order
 * event, key, window, time, message, values. Corrections add the corrected ids and whether they withdraw.
 */
export function statementsFor<M>(
  declared: ContributionDeclaration<M>,
  shape: TableShape,
): ContributionStatements {
  const pieces = piecesOf(declared, shape)
  const { facts, summary, group, kept, values, windowed } = pieces
  return {
    add: addStatement(pieces),
    compare: `select given.n::integer as n, coalesce(bool_or(fact.sign = 1 and ${sameAs('fact', pieces)}), false) as same
      from ${givenFacts(1, pieces)}) with ordinality as given (${givenNames(pieces)}, n)
      join ${facts} as fact on fact.event_id = given.event_id group by given.n`,
    newest: `select asked.key, (extract(epoch from newest.latest_at) * 1000)::double precision as ms
      from unnest($1::text[]) as asked (key), lateral (
        select latest_at from ${summary} as held where held.key = asked.key order by window_start desc limit 1
      ) as newest`,
    lockBalances: `select key${values.map(column => `, ${column}::text as ${column}`).join('')}
      from ${summary} where key = any($1::text[]) order by key for no key update`,
    ...(pieces.corrects ? correctionStatements(pieces) : { readCorrections: '', correct: '' }),
    drift: table => `select ${group}, to_jsonb(held) as held, to_jsonb(counted) as counted
      from ${quoted(table)} as held full join (${recount(pieces, windowed)}) as counted using (${group})
      where (${kept.map(column => `held.${column}`)}) is distinct from (${kept.map(column => `counted.${column}`)})
      order by ${group}`,
    rebuild: table => `insert into ${quoted(table)} (${group}, ${kept.join(', ')})
      select ${group}, ${kept.join(', ')} from (${recount(pieces, windowed)}) as counted order by ${group}`,
    recompute: [
      `lock table ${summary} in share row exclusive mode`,
      `delete from ${summary} where ${ofTime}`,
      `insert into ${summary} (${group}, ${kept.join(', ')})
        select ${group}, ${kept.join(', ')} from (${recount(pieces, windowed, ofTime)}) as counted order by ${group}`,
    ],
  }
}

/**
 * An event that only withdrew another has a reversal and no fact. Where withdrawals are declared, its id
 * counts as used too.
 */
function addStatement(pieces: Pieces): string {
  const { facts, columns, given, evidence, evidenceGiven, returned, corrects } = pieces
  const unused = `where not exists (select from ${facts} as fact where fact.event_id = given.event_id and fact.sign = -1)`
  return `with fresh as (
      insert into ${facts} (${[...columns, ...evidence].join(', ')})
      select ${[...given, ...evidenceGiven].join(', ')} from ${givenFacts(2, pieces)}) as given (${givenNames(pieces)})
      ${corrects ? unused : ''}
      on conflict (event_id, sign) do nothing returning ${returned}
    ), summed as (${summarise('fresh', pieces)})
    select count(*)::integer as count, case when count(*) < $1 then array_agg(event_id) end as ids from fresh`
}

const ofTime = 'window_start >= $1::timestamptz and window_start < $2::timestamptz'

function recount(pieces: Pieces, windowed: boolean, of = 'true'): string {
  const { facts, group, values } = pieces
  const sums = values.map(column => `, sum(${column}) as ${column}`).join('')
  return `select ${group}, sum(sign) as count${sums}${windowed ? ', max(occurred_at) as latest_at' : ''} from ${inWindows(facts, pieces)} where ${of} group by ${group}`
}
