import { z } from 'zod'

/** A card payment as a terminal sends it. The record's key is the card. */
export const Payment = z.object({
  paymentId: z.string().min(1),
  card: z.string().min(1),
  /** In the smallest unit of its currency. */
  amount: z.int().positive(),
  currency: z.string().length(3),
  /** Units of the currency for one euro, on the day of the payment. */
  rate: z.number().positive(),
})

export type Payment = z.infer<typeof Payment>
