import { z } from 'zod'

/**
 * A step of a case. Versions count 1, 2, 3 … within a case. The transition id identifies the step, however
 * often it is sent.
 */
export const CaseStep = z.object({
  messageId: z.string().min(1),
  transitionId: z.string().min(1),
  caseId: z.string().min(1),
  caseVersion: z.int().positive(),
  type: z.string().min(1),
  actor: z.string().min(1),
  reason: z.string().min(1),
  /** The outcome of a closure, or the corrected outcome. */
  outcome: z.enum(['BREACH', 'NO_BREACH']).optional(),
})

export type CaseStep = z.infer<typeof CaseStep>

/** A step that happened: what the workflow publishes. */
export const CaseMoved = z.object({
  transitionId: z.string().min(1),
  caseId: z.string().min(1),
  from: z.string().nullable(),
  to: z.string(),
  version: z.int().positive(),
  reason: z.string(),
})

export type CaseMoved = z.infer<typeof CaseMoved>
