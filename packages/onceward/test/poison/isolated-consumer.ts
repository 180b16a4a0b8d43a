import { defineConsumer } from 'onceward'
import { poisonContract, type VictimOrders } from './poison-contract.ts'

const orders = JSON.parse(process.env.VICTIM_ORDERS!) as VictimOrders

export default defineConsumer({
  ...poisonContract(orders),
  isolation: { mode: 'child', deadlineMs: 1_500, memoryMaxMb: 128 },
})
