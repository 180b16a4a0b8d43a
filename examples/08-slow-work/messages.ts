import { z } from 'zod'

/** A statement of account to be rendered. The months of an account are rendered in order. */
export const StatementRequested = z.object({
  messageId: z.string().min(1),
  accountId: z.string().min(1),
  month: z.string().regex(/^\d{4}-\d{2}$/),
  lines: z.array(z.object({ text: z.string(), amount: z.int() })),
})

export type StatementRequested = z.infer<typeof StatementRequested>
