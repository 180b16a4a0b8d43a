/** Default timeouts of connections and requests. */
export const defaultTimeoutsMs = { request: 10_000, connect: 5_000 } as const
