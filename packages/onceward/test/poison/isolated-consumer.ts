import { defineConsumer } from 'onceward'
import { poisonContract, type VictimOrders } from './poison-contract.ts'

const orders = JSON.parse(process.env.VICTIM_ORDERS!) as VictimOrders

export default defineConsumer({
  ...poisonContract(orders),
  // Only an endless loop has to be found by it, and burns a processor until then. A child that is merely slow
  // must not be taken for one.
  isolation: { mode: 'child', deadlineMs: orders.killer.how === 'loop' ? 4_000 : 30_000, memoryMaxMb: 128 },
})
