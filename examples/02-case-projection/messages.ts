import { z } from 'zod'

/** What happened to a case. Versions count 1, 2, 3 … within a case; the record's key is the case's id. */
export const CaseEvent = z.object({
  eventId: z.string().min(1),
  caseId: z.string().min(1),
  caseVersion: z.int().positive(),
  eventType: z.enum(['CaseOpened', 'CaseAssigned', 'CaseEscalated', 'CaseClosed']),
  newState: z.string().min(1),
  occurredAt: z.iso.datetime(),
})

export type CaseEvent = z.infer<typeof CaseEvent>
