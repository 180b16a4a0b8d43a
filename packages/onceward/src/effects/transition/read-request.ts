import type { BatchItem } from '../../contract/handler.ts'
import {
  columnReader,
  fittingField,
  type ItemReader,
  idField,
  keyField,
  textOf,
  unreadable,
  versionField,
} from '../declared/fields.ts'
import { type Fit, fitColumn } from '../declared/fit-column.ts'
import type { TableShape } from '../declared/tables.ts'
import type { RequestedTransition } from './classify.ts'
import type { TransitionDeclaration } from './declaration.ts'
import type { AllowedMove, Moves } from './state-machine.ts'

/** One message's transition. */
export interface TransitionRequest<M> extends RequestedTransition {
  readonly item: BatchItem<M>
  readonly transitionId: string
  /** As the message writes it. The database may write the same key differently. */
  readonly key: string
  readonly actor: string | null
  readonly reason: string | null
  /** In the order of the declared columns. Undefined: leave unchanged. */
  readonly set: readonly (string | null | undefined)[]
}

export function requestReader<M>(
  declared: TransitionDeclaration<M>,
  machine: Moves | null,
  shape: TableShape,
): ItemReader<M, TransitionRequest<M>> {
  const keeps = (column: string) => shape.columns.get(column)!.keeps
  const fits = (column: string) => fitColumn(keeps(column))
  const columns = Object.entries(declared.set ?? {}).map(([column, read]) =>
    columnReader(read, keeps(column), `set.${column}`),
  )
  const fitKey = fits(declared.aggregate.key)
  const fitVersion = declared.aggregate.version === undefined ? null : fits(declared.aggregate.version)
  return item => {
    const { message } = item
    const from = declared.from?.(message, item)
    const to = declared.to?.(message, item)
    const event = declared.event?.(message, item)
    if (declared.event !== undefined && (typeof event !== 'string' || event === ''))
      throw unreadable('event', 'it is missing')
    if (declared.to !== undefined && typeof to !== 'string') throw unreadable('to', 'it is missing')
    if (declared.from !== undefined && from === undefined) throw unreadable('from', 'it is missing')
    return {
      item,
      transitionId: idField(declared.transitionId(message, item), 'transitionId'),
      key: fittingField(
        fitKey,
        keyField(declared.aggregateId(message, item), 'aggregateId'),
        'aggregateId',
        null,
      ) as string,
      moves: movesAsked(machine, event, from, to),
      name: event ?? `'${from}' to '${to}'`,
      version: declared.version ? fittingVersion(declared.version(message, item), fitVersion) : null,
      actor: textOf(declared.actor(message, item), 'actor'),
      reason: textOf(declared.reason(message, item), 'reason'),
      set: columns.map(read => read(item)),
    }
  }
}

function fittingVersion(value: unknown, fit: Fit | null): bigint {
  const version = versionField(value, 'version')
  if (fit !== null) fittingField(fit, version, 'version', null)
  return version
}

/** The declared moves that match every field of the message. */
function movesAsked(
  machine: Moves | null,
  event: string | undefined,
  from: string | null | undefined,
  to: string | undefined,
): readonly AllowedMove[] {
  if (event === undefined) {
    const move = { from: from!, to: to! }
    return machine === null || machine.declares(move) ? [move] : []
  }
  return machine!
    .ofEvent(event)
    .filter(move => (from === undefined || move.from === from) && (to === undefined || move.to === to))
}
