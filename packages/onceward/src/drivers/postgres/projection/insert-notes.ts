import type { SqlTransaction } from '../../../contract/handler.ts'

/** The record of a message that did more, or less, than move its row to the next version. */
export interface Note {
  readonly messageId: string
  readonly code: string
  readonly detail: string
}

const insert = `
  insert into onceward.note (consumer_id, message_id, code, detail)
  select run.consumer_id, note.*
  from unnest($1::text[], $2::text[], $3::text[]) as note (message_id, code, detail),
    onceward.run where run.id = current_setting('onceward.run')::integer
  on conflict do nothing`

export async function insertNotes(tx: SqlTransaction, notes: readonly Note[]): Promise<void> {
  await tx.query(insert, [
    notes.map(note => note.messageId),
    notes.map(note => note.code),
    notes.map(note => note.detail.toWellFormed().replaceAll('\0', '\\0')),
  ])
}
