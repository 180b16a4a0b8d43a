import { z } from 'zod'

export const OrderShipped = z.object({
  messageId: z.string(),
  orderId: z.string(),
  parcel: z.string(),
  customer: z.object({ name: z.string(), email: z.email() }),
})
export type OrderShipped = z.infer<typeof OrderShipped>
