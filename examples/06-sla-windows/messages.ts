import { z } from 'zod'

/** A request was answered: when, by which team, how long it took, and whether it broke the promise. */
export const RequestAnswered = z.object({
  messageId: z.string().min(1),
  eventId: z.string().min(1),
  team: z.string().min(1),
  answeredAt: z.iso.datetime(),
  /** Minutes, as decimal text: sums are exact. */
  minutes: z.string().regex(/^\d+(\.\d{1,2})?$/),
  breached: z.boolean(),
  /** The event this one corrects. */
  corrects: z.string().min(1).optional(),
  /** True when the event should never have been counted. */
  withdrawn: z.boolean().optional(),
})

export type RequestAnswered = z.infer<typeof RequestAnswered>
