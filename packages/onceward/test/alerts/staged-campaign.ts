import type { TestContext } from 'node:test'
import { type Environment, runConsumer } from 'onceward'
import { file } from 'onceward/file'
import { facts, Scene } from '../replay/scene.ts'
import type { StagedSeries } from './staged-series.ts'

export const campaignSeen: readonly StagedSeries[] = [
  ['onceward_consumer_replayed_messages_total', { consumer: 'replays' }],
  ['onceward_external_suppressed_effects_total', { consumer: 'replays' }],
  ['onceward_outbox_suppressed_messages_total', { consumer: 'replays' }],
  ['onceward_replay_campaigns', { consumer: 'replays', state: 'running' }],
  ['onceward_replay_progress_ratio', { consumer: 'replays' }],
]

/** A slow campaign over messages that its consumer never saw. It must not call and not publish. */
export async function stageCampaign(t: TestContext, env: Environment) {
  const scene = await Scene.open(t)
  await scene.write(...facts(120))
  const consumer = scene.contract({ name: 'replays', source: file(scene.path) })
  await scene.passed(consumer)
  const options = { databaseUrl: scene.url, env }
  const running = await runConsumer(consumer, { ...options, parts: ['consumer'], gaugesMaxAgeMs: 3_000 })
  const replay = await scene.replay(consumer, { env })
  const stop = new AbortController()
  const id = await scene.planned(replay, { rateMax: 1 })
  const campaign = replay.run(id, { signal: stop.signal })
  campaign.catch(() => {})
  return {
    /** Rejects if the campaign failed. */
    async close() {
      stop.abort()
      await campaign
      await running.drain(1_000)
    },
    seen: campaignSeen,
  }
}
