import { dirname, join } from 'node:path'
import { type Environment, park, realEnvironment, reject } from 'onceward'
import { resolveRetention } from '../../src/contract/retention.ts'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { type Fact, type FactContract, factContract, type Scene } from './scene.ts'

type Handle = NonNullable<FactContract['handle']>

/** The handler of all scenes, but it gives these up. */
export const givingUp = (...ids: readonly string[]): Handle =>
  (context =>
    ids.includes(context.message.id) ? reject('never') : factContract('').handle!(context)) as Handle

export const parkingAll: Handle = () => park('somebody should look')

export const folderOf = (scene: Scene): string => join(dirname(scene.path), 'archive')

/** Dead letters of a consumer grow two days older, and retention archives them after one. */
export async function archiveDead(
  scene: Scene,
  { name = 'facts', env = realEnvironment() }: { name?: string; env?: Environment } = {},
): Promise<void> {
  await scene.pool.query(
    `update onceward.held set first_at = first_at - interval '2 days', last_at = last_at - interval '2 days'`,
  )
  const [{ id }] = (await scene.rows('select id from onceward.consumer where name = $1', name)) as [
    { id: number },
  ]
  await purgeConsumer({
    pool: scene.pool,
    env,
    consumerId: id,
    consumerName: name,
    retention: resolveRetention({ markers: '30d', deadLetters: '1d', action: 'archive' }, 'projection'),
    archive: { folder: folderOf(scene), gzip: true },
    clocks: { wallMs: Date.now, clock: env.clock },
    share: 1,
  })
}

/** A pass that dies between archiving and removing: its rows stay, and are archived again by the next. */
export async function dieArchiving(scene: Scene): Promise<void> {
  const reach = (point: string) => {
    if (point === 'retention.archived') throw new Error('died')
  }
  await archiveDead(scene, { env: { ...realEnvironment(), reach } }).catch(() => {})
}

/** Consumed live and given up. */
export async function buried(scene: Scene, ...facts: readonly Fact[]): Promise<void> {
  await scene.write(...facts)
  await scene.live(scene.contract({ handle: givingUp(...facts.map(({ id }) => id)) }))
}
