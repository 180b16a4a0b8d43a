import type { ParkedRow } from '../../../drivers/postgres/parking/read-parked.ts'
import { table } from '../../table.ts'

/** Origin of a held message: its mode, or its campaign. */
export function originText({ mode, campaign }: Pick<ParkedRow, 'mode' | 'campaign'>): string {
  return campaign === null ? mode : `campaign ${campaign} (${mode})`
}

export function parkedTable(rows: readonly ParkedRow[]): string {
  if (rows.length === 0) return 'No messages need attention.'
  return table(
    [
      'id',
      'consumer',
      'state',
      'cause',
      'code',
      'message',
      'key',
      'attempts',
      'seen',
      'first',
      'label',
      'assignee',
      'from',
      'reason',
    ],
    rows.map(r => [
      r.id,
      r.consumer,
      r.state,
      r.cause,
      r.code,
      r.messageId,
      r.key,
      r.attempts,
      r.seen,
      r.firstAt.toISOString().slice(0, 19),
      r.label,
      r.assignee,
      originText(r),
      r.fixWaits === null ? r.reason.slice(0, 60) : `fix waits for approval: ${r.reason.slice(0, 60)}`,
    ]),
  )
}
