import { z } from 'zod'

/**
 * A step in the life of a case. Versions count 1, 2, 3 … within a case; the transition id is the step's own,
 * however often it is sent.
 */
export const CaseStep = z.object({
  messageId: z.string().min(1),
  transitionId: z.string().min(1),
  caseId: z.string().min(1),
  caseVersion: z.int().positive(),
  type: z.string().min(1),
  actor: z.string().min(1),
  reason: z.string().min(1),
  /** What a closure found, or what a correction says it should have been. */
  outcome: z.enum(['BREACH', 'NO_BREACH']).optional(),
})

export type CaseStep = z.infer<typeof CaseStep>
