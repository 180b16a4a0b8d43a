import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createPool } from 'onceward/postgres'
import { approveRequest, requestDeletion } from '../../src/operations/parking/delete-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { readCampaign } from '../../src/replay/campaign/campaign.ts'
import { approveCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { skipWithout } from '../services/services.ts'
import { Scene } from '../work/scene.ts'
import { direct, failing, settled } from './parked-scene.ts'
import { People, refusal } from './people.ts'

type Login = Awaited<ReturnType<People['login']>>

const wide = (text: string) =>
  text.replaceAll(/[a-z]/g, letter => String.fromCodePoint(letter.codePointAt(0)! + 0xfee0))

/** What a reader, or somebody in a hurry, takes for the same name. */
const spellings: Record<string, (name: string) => string> = {
  'the same': name => name,
  'in capitals': name => name.toUpperCase(),
  'with blanks around it': name => ` ${name}\t`,
  'with blanks of other alphabets': name => `\u3000${name}\u00a0\u2009`,
  'with the name of another console': name => `${name} (via x)`,
  'with the names of two consoles': name => `${name.toUpperCase()} (via x) (via y)`,
  'with a console in wide letters': name => `${name}\u3000\uff08VIA x\uff09`,
  'with a joiner nobody sees': name => `${name.slice(0, 3)}\u200b\u2060\u00ad${name.slice(3)}\ufeff`,
  'in wide letters': wide,
}

describe('one person', await skipWithout('postgres'), () => {
  let scene: Scene
  let people: People
  let ann: Login
  let bob: Login
  let desk: ReturnType<typeof createPool>
  let order: { consumer: string; ids: string[]; digest: string; because: string }
  before(async () => {
    scene = await Scene.open()
    await scene.pool.query('select onceward.create_roles()')
    people = new People(scene.pool, scene.url)
    const both = ['onceward_operator', 'onceward_approver']
    ann = await people.login(both, { person: true })
    bob = await people.login(both, { person: true })
    desk = createPool((await people.login(['onceward_console'], { person: false })).url, { max: 1 })
    const bad = new Set(['a'])
    await scene.publish('orders', { id: 'a' })
    const running = await scene.start('orders', {
      ...direct,
      failure: { attemptsMax: 1 },
      ...failing('orders', bad),
    })
    await settled(scene, 'orders')
    await running.drain()
    const { rows, digest } = await previewParked(ann.pool, { consumer: 'orders', countMax: 10 })
    order = { consumer: 'orders', ids: rows.map(row => row.id), digest, because: 'test data' }
  })
  after(async () => {
    await desk.end()
    await people.close()
    await scene.close()
  })

  const deskFor = (name: string) => desk.query(`select set_config('onceward.acting_as', $1, false)`, [name])
  const campaign = async (pool: Login['pool']) => {
    const { rows } = await pool.query(
      `select onceward.create_campaign('orders', 1::smallint, 'replay', 'suppressed', '{}', null, 'a test') as answer`,
    )
    const { id } = rows[0].answer as { id: string }
    await pool.query(`select onceward.plan_campaign($1, '{}')`, [id])
    const { planDigest } = await readCampaign(pool, id)
    return { id, planDigest: planDigest! }
  }

  for (const [how, spell] of Object.entries(spellings))
    it(`is the same person when the name is written ${how}`, async () => {
      await deskFor(spell(ann.name))
      const byDesk = await requestDeletion(desk, order, 3_600)
      await assert.rejects(
        approveRequest(ann.pool, byDesk.id, order.digest, 'looked at it'),
        /The requester cannot approve/,
      )
      const byAnn = await requestDeletion(ann.pool, order, 3_600)
      await assert.rejects(
        approveRequest(desk, byAnn.id, order.digest, 'looked at it'),
        /The requester cannot approve/,
      )
      const forged = `update onceward.approval set approved_by = '' where id = ${byAnn.id}`
      await scene.pool.query('grant update on onceward.approval to onceward_console')
      assert.match(await refusal(desk, forged), /the requester cannot approve/)
      await scene.pool.query('revoke update on onceward.approval from onceward_console')
      await deskFor(spell(ann.name)) // a pool ends the connection of a statement that failed

      const { id, planDigest } = await campaign(ann.pool)
      const approval = { because: 'looked at', planDigest }
      await assert.rejects(approveCampaign(desk, id, approval), /another person has to approve/)
      assert.equal(
        (await approveRequest(bob.pool, byDesk.id, order.digest, 'looked at it')).approvedBy,
        bob.name,
      )
      assert.equal((await approveCampaign(bob.pool, id, approval)).approvedBy, bob.name)
    })

  it('has a name: a console that names no person neither requests nor approves', async () => {
    const request = await requestDeletion(ann.pool, order, 3_600)
    for (const blank of ['', '  ', '\u200b\u3000', ' (via x)']) {
      await deskFor(blank)
      await assert.rejects(requestDeletion(desk, order, 3_600), /is not registered in onceward.person/)
      await assert.rejects(
        approveRequest(desk, request.id, order.digest, 'looked at it'),
        /is not registered in onceward.person/,
      )
    }
  })

  it('is not another person with a similar name', async () => {
    const { rows } = await scene.pool.query(
      `select one, other, onceward.same_person(one, other) as same from (values
        ('ann', 'anna'), ('ann a', 'anna'), ('jose', 'josé'), ('via', 'ann (via x)'), ('ann', null), ('ann', ' '),
        ('josé', 'JOSE' || U&'\\0301'), ('STRASSE', 'straße'), ('ilker', 'İLKER')) as pair (one, other)`,
    )
    assert.deepEqual(
      rows.map(row => row.same),
      [false, false, false, false, true, true, true, true, true],
    )
  })
})
