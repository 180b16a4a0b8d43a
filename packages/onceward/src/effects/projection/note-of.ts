import type { Note } from '../../drivers/postgres/projection/insert-notes.ts'
import type { ResultCode } from './declaration.ts'
import type { ProjectionFact } from './read-facts.ts'

export function noteOf<M>({ item, corrects }: ProjectionFact<M>, code: ResultCode, reason: string): Note {
  const detail = code === 'correction' ? `corrects ${corrects}` : reason
  return { messageId: item!.envelope.id, code, detail }
}
