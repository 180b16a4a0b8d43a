import { z } from 'zod'

/** An invoice to be booked. Those of one account are booked in the order they come. */
export const InvoiceReceived = z.object({
  messageId: z.string().min(1),
  accountId: z.string().min(1),
  currency: z.string(),
  amount: z.int(),
})

export type InvoiceReceived = z.infer<typeof InvoiceReceived>
