import { z } from 'zod'

/**
 * What happened to an order. Versions count 1, 2, 3 … within an order; the record's key is the order's id.
 */
export const OrderEvent = z.object({
  eventId: z.string().min(1),
  orderId: z.string().min(1),
  version: z.int().positive(),
  state: z.enum(['placed', 'paid', 'shipped']),
})

export type OrderEvent = z.infer<typeof OrderEvent>
