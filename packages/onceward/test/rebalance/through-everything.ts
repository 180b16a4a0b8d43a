import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { until } from 'onceward/testing'
import type { Member } from './member.ts'
import type { Held } from './member-process.ts'
import { openScene, type Scene, type SceneOptions } from './scene.ts'
import type { Memory } from './work.ts'

const deadlineMs = 120_000

/** One group through everything that moves partitions, the producer running all the while. */
export async function throughEverything(t: TestContext, options: SceneOptions): Promise<void> {
  const scene = await openScene(t, options)
  scene.load.start()
  scene.watch.start()
  let members = [await scene.join()]
  await scene.allApply(members)
  for (let joining = 0; joining < 2; joining++) members.push(await scene.join())
  await scene.allApply(members)

  members = await killOne(scene, members)
  await scene.allApply(members)
  await freezeOne(scene, members, options)
  await scene.allApply(members)
  for (const oldest of [...members]) {
    await oldest.leave()
    members = [...members.slice(1), await scene.join()]
    await scene.allApply(members)
  }
  await scene.finish(members)
  await assertInvariants(scene, options.memory)
  const takings = await scene.takings()
  t.diagnostic(
    `${scene.load.events} events, ${takings} takings of partitions, ${scene.watch.samples} samples`,
  )
  assert.ok(takings >= 6 + 12, `partitions changed hands: taken ${takings} times`)
  assert.ok(scene.watch.samples >= 50, 'the positions were watched')
}

/** kill -9 in the middle of a transaction; another process joins. */
async function killOne(scene: Scene, members: readonly Member[]): Promise<Member[]> {
  const [victim, ...others] = members
  const held = await victim!.holds()
  await victim!.kill()
  const all = [...others, await scene.join()]
  await appliedByAnotherAttempt(scene, held)
  return all
}

/** Frozen in the middle of a transaction until its partition is another's, then woken. */
async function freezeOne(scene: Scene, members: readonly Member[], options: SceneOptions): Promise<void> {
  const zombie = members[0]!
  const held =
    options.zombie === 'learns first' ? await zombie.freezesInHandler() : await zombie.freezesAtFence()
  const ownership = await scene.ownershipOf(held.event)
  const another = async () => (await scene.ownershipOf(held.event)) > ownership
  await until('its partition has another owner', another, { deadlineMs })
  // Its open transaction holds a marker: where there is one, the new owner waits for it.
  if (options.memory === 'nothing but the position') await appliedByAnotherAttempt(scene, held)
  zombie.wake()
  await appliedByAnotherAttempt(scene, held)
}

async function appliedByAnotherAttempt(scene: Scene, { event, attempt }: Held): Promise<void> {
  const attempts = async () => {
    const rows = await scene.rows('select attempt from applied where id = $1', [event.id])
    return rows.map(row => row.attempt as string)
  }
  await until(`${event.id} is applied`, async () => (await attempts()).length > 0, { deadlineMs })
  assert.ok(!(await attempts()).includes(attempt), 'what a former owner had begun was committed')
}

/** Nothing lost, nothing twice, every key in its order, and nobody was told of a loss. */
export async function assertInvariants(scene: Scene, memory: Memory): Promise<void> {
  const { load, watch } = scene
  watch.assertNothingSkipped()
  const twice = await scene.rows('select id, count(*)::int from applied group by id having count(*) > 1')
  assert.deepEqual(twice, [], 'no event was applied twice')
  assert.equal(await scene.count('applied'), load.events, 'every event was applied')
  assert.equal(await scene.count('onceward.held'), 0)
  const markers = memory === 'nothing but the position' ? 0 : load.events
  assert.equal(await scene.count('onceward.inbox'), markers)
  const back = await scene.rows(`
    select * from (select key, seq, lag(seq) over (partition by key order by number) as before from applied) steps
    where seq <> coalesce(before, 0) + 1`)
  assert.deepEqual(back, [], 'the events of each key were applied in their order')
  if (memory === 'nothing but the position') {
    const records = `select split_part(position, '@', 1) as partition, split_part(position, '@', 2)::bigint as place, number from applied`
    const jumps = await scene.rows(`
      select * from (select *, lag(place) over (partition by partition order by number) as before from (${records}) all_records) steps
      where place <> coalesce(before, -1) + 1`)
    assert.deepEqual(jumps, [], 'the records of each partition were applied in their order, without a gap')
  }
  assert.equal(await scene.count('onceward.loss'), 0, 'no loss was declared')
  assert.ok(watch.passed > load.events / 2, 'the positions were watched')
}
