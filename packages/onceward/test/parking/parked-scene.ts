import type { ConsumerContract, SqlTransaction } from 'onceward'
import { until } from 'onceward/testing'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { runRedrive, startRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { type Job, type JobContext, type Scene, write } from '../work/scene.ts'

export const direct = { inbox: { mode: 'transactional' as const } }
export const inOrder = { ...direct, order: 'key' as const, failure: { attemptsMax: 1, delayMs: 1 } }

export const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

/** Fails for the ids in `bad`, writes the others down. */
export function failing(
  name: string,
  bad: ReadonlySet<string>,
): Partial<ConsumerContract<Job, SqlTransaction>> {
  return {
    handle: async (context: JobContext) => {
      if (bad.has(context.message.id)) throw Object.assign(new Error('cannot'), { code: 'E_BAD' })
      await write(context, name)
    },
  }
}

/** Everything that waits for people and matches, replayed at once. */
export async function replayAll(
  scene: Pick<Scene, 'pool'>,
  consumer: string,
  requestId: string,
  filter = {},
): Promise<void> {
  const { rows, digest } = await previewParked(scene.pool, { consumer, countMax: 1_000, ...filter })
  const order = {
    requestId,
    consumer,
    ids: rows.map(row => row.id),
    digest,
    perSecond: null,
    because: 'mended',
  }
  await startRedrive(scene.pool, order)
  await runRedrive(scene.pool, requestId, { pause })
}

export async function isIdle(scene: Scene, name: string): Promise<boolean> {
  return (await scene.depth(name)) === 0 && (await scene.held(name)).every(row => row.state !== 'stored')
}

export const settled = (scene: Scene, name: string) =>
  until('the queue is empty', async () => (await scene.depth(name)) === 0)

export async function blockedKeys(scene: Scene, name: string): Promise<string[]> {
  const { rows } = await scene.pool.query(
    `select key || ' ' || state as blocked from onceward.blocked_key
     where consumer_id = (select id from onceward.consumer where name = $1) order by key`,
    [name],
  )
  return rows.map(row => row.blocked)
}
