import { givenFacts, givenNames, type Pieces, sameAs, summarise } from './statement-pieces.ts'
import type { ContributionStatements } from './statements.ts'

/** Both take the arrays of facts, then the corrected ids and whether each correction withdraws. */
export function correctionStatements(
  pieces: Pieces,
): Pick<ContributionStatements, 'readCorrections' | 'correct'> {
  const { facts, values, columns, given, evidence, evidenceGiven, returned, windowed, timed } = pieces
  const after = 6 + values.length
  const corrections = `${givenFacts(1, pieces)}, $${after}::text[], $${after + 1}::boolean[])`
  const names = `${givenNames(pieces)}, corrects, withdraws`
  const reversed = [
    'given.event_id',
    '-1',
    'fact.key',
    ...(windowed ? ['fact.window_start'] : []),
    ...(timed ? ['fact.occurred_at'] : []),
    ...values.map(column => `-fact.${column}`),
    'fact.event_id',
    ...evidenceGiven,
  ]
  return {
    readCorrections: `select given.n::integer as n, target.event_id is not null as found, target.key as target_key,
        array[${values.map(column => `target.${column}::text`).join(', ')}]::text[] as target_values,
        taken.event_id as taken_by, mine.reverses as reversed, own.event_id is not null as placed, ${sameAs('own', pieces)} as same
      from ${corrections} with ordinality as given (${names}, n)
      left join ${facts} as target on target.event_id = given.corrects and target.sign = 1
      left join ${facts} as taken on taken.reverses = given.corrects
      left join ${facts} as mine on mine.event_id = given.event_id and mine.sign = -1
      left join ${facts} as own on own.event_id = given.event_id and own.sign = 1`,
    correct: `with given as (select * from ${corrections} as given (${names})
      ), reversed as (
        insert into ${facts} (${[...columns, 'reverses', ...evidence].join(', ')})
        select ${reversed.join(', ')} from given join ${facts} as fact on fact.event_id = given.corrects and fact.sign = 1
        on conflict do nothing returning ${returned}
      ), placed as (
        insert into ${facts} (${[...columns, ...evidence].join(', ')})
        select ${[...given, ...evidenceGiven].join(', ')} from given where not given.withdraws
        on conflict do nothing returning ${returned}
      ), fresh as (select * from reversed union all select * from placed), summed as (${summarise('fresh', pieces)})
      select count(*)::integer as count from fresh`,
  }
}
