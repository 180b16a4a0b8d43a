import { z } from 'zod'

/** A parcel was seen somewhere. */
export const ParcelScanned = z.object({
  scanId: z.string().min(1),
  parcelId: z.string().min(1),
  place: z.string().min(1),
  status: z.enum(['accepted', 'in transit', 'out for delivery', 'delivered']),
  at: z.iso.datetime(),
})

export type ParcelScanned = z.infer<typeof ParcelScanned>
