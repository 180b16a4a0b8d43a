import { z } from 'zod'

/**
 * The envelope and the request. A message that does not match is dead-lettered and never reaches the handler.
 */
export const PaymentCaptureRequested = z.object({
  messageId: z.string().min(1),
  correlationId: z.string().min(1),
  schemaVersion: z.literal(1),
  captureRequestId: z.string().min(1),
  merchantId: z.string().min(1),
  /** In minor units. */
  amount: z.int().positive(),
  currency: z.string().length(3),
})

export type PaymentCaptureRequested = z.infer<typeof PaymentCaptureRequested>
