import type { TestContext } from 'node:test'
import { defineConsumer, type Environment, runConsumer } from 'onceward'
import { until } from 'onceward/testing'
import { attemptsMax, consumerName, poisonContract } from '../poison/poison-contract.ts'
import { openScene } from '../poison/scene.ts'
import type { StagedSeries } from './staged-series.ts'

export const deathsSeen: readonly StagedSeries[] = [
  ['onceward_consumer_crash_suspects_total', { consumer: consumerName }],
  ['onceward_consumer_parked_crash_suspects_total', { consumer: consumerName }],
]

/** Real processes die over one message; the process that finds and parks it is this one. */
export async function stageDeaths(t: TestContext, env: Environment) {
  const killer = 'pay-1'
  const scene = await openScene({ kind: 'postgres', killer, how: 'exit' })
  await scene.publish([killer])
  const deaths = async () => (await scene.attempts()).filter(({ code }) => code === 'process_died').length
  while ((await deaths()) < attemptsMax) await scene.spawn().ended
  const { databaseUrl } = scene.orders
  const harmless = { ...scene.orders, killer: { id: 'nobody', how: 'exit' as const } }
  const running = await runConsumer(defineConsumer(poisonContract(harmless)), { databaseUrl, env })
  t.after(async () => {
    await running.drain(5_000)
    await scene[Symbol.asyncDispose]()
  })
  await until('it is parked', async () => (await scene.held()).length === 1)
  return { seen: deathsSeen }
}
