/**
 * Up to PostgreSQL 17 a plan that needs a scan or sort which `enable_…` forbids has a cost of 10^10, beyond
 * every threshold of JIT compilation. A lease of 100 messages then took 0.1 s of processor time and more on
 * 15, instead of 1 ms. For each transaction with such settings.
 */
export const jitSettings = { jit: 'off' } as const
export const noJit = 'set local jit = off'
