import { isRecord, oneOf, type Report, unknownKeys } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** What a contract says of finding its effects again. Also usable on data that is no contract. */
export function reconcileProblems(contract: ConsumerContract, wrong: Report): void {
  const reconcile: unknown = contract.reconcile
  if (reconcile === undefined) return
  if (!isRecord(reconcile)) return wrong('reconcile', "must be { effects: 'select … as message_id from …' }")
  unknownKeys(reconcile, 'reconcile', 'reconcile.', wrong)
  const { effects, covers, perMessage, edited } = reconcile
  if (effects === undefined)
    wrong('reconcile.effects', 'is missing: a SELECT that gives the message_id of every row written')
  for (const [name, text] of Object.entries({ effects, edited })) {
    if (text !== undefined && !isSelect(text))
      wrong(
        `reconcile.${name}`,
        'must be one SELECT (or WITH … SELECT) that gives message_id, without a semicolon',
      )
  }
  if (covers !== undefined) oneOf(covers, ['all', 'some'], 'reconcile.covers', wrong)
  if (perMessage !== undefined) oneOf(perMessage, ['one', 'any'], 'reconcile.perMessage', wrong)
  if (contract.dedup === 'checkpoint' || contract.dedup === 'version')
    wrong('reconcile', `compares with markers, of which dedup '${contract.dedup}' keeps none`)
}

function isSelect(text: unknown): boolean {
  return (
    typeof text === 'string' &&
    /^\s*(select|with)\s/i.test(text) &&
    !text.includes(';') &&
    /message_id/i.test(text)
  )
}
