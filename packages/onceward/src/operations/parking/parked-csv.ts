import type { ParkedRow } from '../../drivers/postgres/parking/read-parked.ts'

const columns: readonly (keyof ParkedRow)[] = [
  ...(['id', 'consumer', 'state', 'failureClass', 'code', 'reason', 'place', 'cause', 'messageId'] as const),
  ...([
    'key',
    'businessKey',
    'attempts',
    'seen',
    'firstAt',
    'lastAt',
    'bodyBytes',
    'label',
    'assignee',
  ] as const),
]

/** A cell that a spreadsheet would read as a formula begins with an apostrophe. */
function cell(value: unknown): string {
  const text = value instanceof Date ? value.toISOString() : String(value ?? '')
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}

/** Rows as CSV (RFC 4180), with a header and without payloads. */
export function parkedCsv(rows: readonly ParkedRow[]): string {
  const lines = rows.map(row => columns.map(column => cell(row[column])).join(','))
  return [columns.join(','), ...lines, ''].join('\r\n')
}
