/** Of connections and requests, where nobody says otherwise. */
export const defaultTimeoutsMs = { request: 10_000, connect: 5_000 } as const
